"""``bench engine``: how fast this engine decodes, what scheduling costs, and what serving does."""

from __future__ import annotations

import contextlib
import importlib.util
import statistics
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.metadata import version

import msgspec

from demo_engine.bench.figures import Figure, Target, not_measured
from demo_engine.bench.jobs import Side, Spent
from demo_engine.bench.paired import median_interval, slope
from demo_engine.bench.scheduling import scheduling_figures
from demo_engine.bench.serving import serving_figures
from demo_engine.bench.sides import RunningSide, running_side

NUM_ROUNDS, NUM_QUICK_ROUNDS = 9, 3
NUM_TOKENS = 12
BATCH, INT8_BATCH = 8, 16
THREADS = (1, 2)
CONTEXTS = (128, 512, 1024, 1536)
REPEATS = 2
NUM_TURNS, NUM_QUICK_TURNS = 60, 10
LLAMA_CPP = "llama_cpp_single"
HOW = (
    f"arms take turns, n = {NUM_ROUNDS} (--quick: {NUM_QUICK_ROUNDS}), each in a process of its own with the model in "
    "memory, with one and with two threads that wait passively;",
    f"the faster of the two stands here. {NUM_TOKENS} tokens a request, time from the first to the last; medians.",
)


@dataclass(frozen=True)
class Arm:
    """What takes its turn in each round."""

    side: RunningSide
    num_requests: int = 1


@dataclass(frozen=True)
class Best:
    """An arm's runs with the number of threads that suits it best."""

    num_threads: int
    spent: list[Spent]

    @property
    def tokens_per_s(self) -> float:
        """Median throughput."""
        return statistics.median(spent.tokens_per_s for spent in self.spent)

    @property
    def cpu_ms_per_token(self) -> float:
        """Median processor time a token."""
        return statistics.median(spent.cpu_ms_per_token for spent in self.spent)


def bench_engine(model: str, quick: bool, say: Callable[[str], None]) -> list[Figure]:
    """Measure every figure.

    Args:
        model: The model's folder.
        quick: Fewer rounds.
        say: Takes progress lines.
    """
    num_rounds = NUM_QUICK_ROUNDS if quick else NUM_ROUNDS
    say("scheduling")
    figures = scheduling_figures(NUM_QUICK_TURNS if quick else NUM_TURNS)
    with contextlib.ExitStack() as stack:
        ours = Side("engine", model)
        sides = {"fp32_fast_single": msgspec.structs.replace(ours, batch_invariant=False), "fp32_single": ours}
        sides["int8_single"] = msgspec.structs.replace(ours, quantization="int8")
        sides["int8_fast_single"] = msgspec.structs.replace(ours, quantization="int8_rows")
        sides["transformers"] = Side("transformers", model)
        if importlib.util.find_spec("llama_cpp"):
            sides[LLAMA_CPP] = Side("llama-cpp", model)
        say("loading the models")
        arms = {name: Arm(stack.enter_context(running_side(side))) for name, side in sides.items()}
        arms[f"fp32_batch{BATCH}"] = replace(arms["fp32_single"], num_requests=BATCH)
        arms[f"int8_batch{INT8_BATCH}"] = replace(arms["int8_single"], num_requests=INT8_BATCH)
        best = {name: best_of(runs) for name, runs in measure(arms, num_rounds, say).items()}
        say("contexts")
        slopes = _context_slopes(arms["fp32_single"].side, num_rounds)
    serving = serving_figures(model, num_rounds, say)
    return [*speed_figures(best), _slope_figure(slopes), *figures, *serving]


def measure(arms: dict[str, Arm], num_rounds: int, say: Callable[[str], None]) -> dict[str, dict[int, list[Spent]]]:
    """Let all arms take turns, each with one and with two threads, after one round that does not count.

    Returns:
        For each arm and number of threads, the runs in order.
    """
    runs: dict[str, dict[int, list[Spent]]] = {name: {num_threads: [] for num_threads in THREADS} for name in arms}
    for number in range(num_rounds + 1):
        say(f"round {number} of {num_rounds}" if number else "warm-up")
        for name, arm in arms.items():
            for num_threads in THREADS:
                spent = arm.side.decode(num_threads, arm.num_requests, NUM_TOKENS)
                if number:
                    runs[name][num_threads].append(spent)
    return runs


def best_of(runs: dict[int, list[Spent]]) -> Best:
    """Return the runs with the number of threads whose median throughput is highest."""
    return max((Best(num_threads, spent) for num_threads, spent in runs.items()), key=lambda best: best.tokens_per_s)


def speed_figures(best: dict[str, Best]) -> list[Figure]:
    """Return throughput and processor time a token of every arm, beside what it is compared with."""
    generate = (
        f"transformers {version('transformers')} generate, torch {version('torch')}, float32, greedy, default cache "
        f"and attention, {_threads(best['transformers'])}"
    )
    single = f"this engine, one request, {_threads(best['fp32_single'])}"
    int8 = f"{single}, float32; ours with activations in two 7-bit parts"
    int8_fast = f"{single}, float32; ours with activations in 7 bits, which fails the test of its text"
    llama_cpp = "llama-cpp-python is not installed"
    return [
        *_compared("fp32_fast_single", best, "transformers", generate, 1.5),
        *_compared("fp32_single", best, "transformers", generate, 1.1),
        *_compared(f"fp32_batch{BATCH}", best, "fp32_single", single, 4),
        *_compared("int8_single", best, "fp32_single", int8, 1.1),
        *_compared("int8_fast_single", best, "fp32_single", int8_fast, 1.7),
        *_compared(f"int8_batch{INT8_BATCH}", best, "fp32_single", int8, 6),
        *(
            _compared(LLAMA_CPP, best, "transformers", generate)
            if LLAMA_CPP in best
            else [not_measured(LLAMA_CPP, "tokens/s", llama_cpp)]
        ),
    ]


def _compared(
    name: str, best: dict[str, Best], other_name: str, description: str, least_ratio: float | None = None
) -> list[Figure]:
    ours, theirs = best[name], best[other_name]
    pairs = zip(ours.spent, theirs.spent, strict=True)
    low, high = median_interval([mine.tokens_per_s / other.tokens_per_s for mine, other in pairs])
    compared = (
        f"{description}; ours with {_threads(ours)}; ratio of pairs {low:.2f} to {high:.2f} (95 %), n={len(ours.spent)}"
    )
    target = None if least_ratio is None else Target(least_ratio, "at least", of="ratio")
    return [
        Figure(name, ours.tokens_per_s, "tokens/s", compared, theirs.tokens_per_s, target),
        Figure(f"{name}_cpu", ours.cpu_ms_per_token, "CPU-ms a token", compared, theirs.cpu_ms_per_token),
    ]


def _context_slopes(side: RunningSide, num_rounds: int) -> list[float]:
    """Return, round by round, how much longer a step takes for each token more that it attends to, in µs."""
    slopes = []
    for _ in range(num_rounds):
        times_us = [side.context(1, length, REPEATS).wall_ns / REPEATS / 1000 for length in CONTEXTS]
        slopes.append(slope(CONTEXTS, times_us))
    return slopes


def _slope_figure(slopes: list[float]) -> Figure:
    low, high = median_interval(slopes)
    how = (
        f"none; one request, contexts of {', '.join(map(str, CONTEXTS))} tokens, one thread; "
        f"{low:.1f} to {high:.1f} (95 %), n={len(slopes)}"
    )
    return Figure("context_slope", statistics.median(slopes), "µs a token", how, target=Target(12, "at most"))


def _threads(best: Best) -> str:
    return f"{best.num_threads} thread{'s' if best.num_threads > 1 else ''}"

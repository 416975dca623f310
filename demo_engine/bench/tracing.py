"""``bench tracing``: what the recorder costs, and proof that this way of measuring would find it if it cost more."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from demo_engine.bench.figures import Figure, Target
from demo_engine.bench.jobs import PROMPT_TOKENS, Recorded, Side
from demo_engine.bench.null_runner import Finished, NullRunner
from demo_engine.bench.paired import median_interval
from demo_engine.bench.recording import INSTANTS_A_STEP, Switch, compare
from demo_engine.bench.sides import running_side
from demo_engine.core.config import EngineConfig
from demo_engine.core.loop import EngineLoop
from demo_engine.core.request import EngineRequest, SamplingParams
from demo_engine.core.step_log import COLUMNS, StepLog, StepTimes

PLANTED_US, TOLERANCE_US = 200, 20
NUM_ROUNDS, NUM_QUICK_ROUNDS = 40, 6
STEPS_A_TURN, NULL_STEPS_A_TURN = 3, 25
NUM_CALLS, NUM_BATCHES = 2000, 15
HOW = (
    f"an event is one instant of a step: the clock is read and the value written down; a step has {INSTANTS_A_STEP}, "
    "and one row for all.",
    f"on/off: the same steps with the recorder on, off, off, on, n = {NUM_ROUNDS} rounds (--quick: "
    f"{NUM_QUICK_ROUNDS}), median and its 95 % interval by bootstrap, all in processor time.",
)


def bench_tracing(model: str, quick: bool, say: Callable[[str], None]) -> list[Figure]:
    """Measure every figure.

    Args:
        model: The model's folder.
        quick: Fewer rounds.
        say: Takes progress lines.
    """
    num_rounds = NUM_QUICK_ROUNDS if quick else NUM_ROUNDS
    say("one event")
    event_us = measure_event_us()
    say(f"{PLANTED_US} µs planted")
    planted = compare_without_model(PLANTED_US * 1000, num_rounds)
    say("on and off beside the model")
    with running_side(Side("engine", model)) as side:
        recorded = side.recording(1, num_rounds, STEPS_A_TURN)
    return [*_cost_figures(event_us, recorded), _planted_figure(planted)]


def measure_event_us() -> float:
    """Return what one instant costs, in µs: a whole step's recording, from the clock to the log, by its instants."""
    log, clock_ns = StepLog(), time.perf_counter_ns
    rest = (1,) * (len(COLUMNS) - INSTANTS_A_STEP)
    batches_us = []
    for _ in range(NUM_BATCHES):
        start_ns = time.thread_time_ns()
        for _ in range(NUM_CALLS):
            times = StepTimes(clock_ns(), clock_ns(), clock_ns(), clock_ns(), clock_ns())
            log.append((*times.row(), *rest), ("r7",), ())
        batches_us.append((time.thread_time_ns() - start_ns) / 1000 / NUM_CALLS / INSTANTS_A_STEP)
    return statistics.median(batches_us)


def compare_without_model(planted_ns: int, num_rounds: int) -> Recorded:
    """Compare steps with and without recording where the model takes no time, each instant made dearer by a wait."""
    switch = Switch(planted_ns)
    loop = EngineLoop(EngineConfig(), NullRunner(), Finished(), switch.clock_ns)
    num_tokens = 1 + (4 * num_rounds + 1) * NULL_STEPS_A_TURN
    loop.submit(EngineRequest("r7", (1,) * PROMPT_TOKENS, SamplingParams(num_tokens)))
    loop.step()
    return compare(loop, switch, num_rounds, NULL_STEPS_A_TURN)


def _cost_figures(event_us: float, recorded: Recorded) -> list[Figure]:
    step_ms = recorded.step_ns / 1e6
    beside = f"a step of {step_ms:.3g} ms: one request decodes, float32, one thread, recorder off"
    shares = [added_ns / recorded.step_ns * 100 for added_ns in recorded.added_ns]
    low, high = median_interval(shares)
    unit = "% of a step"
    share = INSTANTS_A_STEP * event_us / 1000 / step_ms * 100
    return [
        Figure("event_us", event_us, "µs", target=Target(0.5, "at most")),
        Figure("step_share", share, unit, beside, target=Target(0.1, "at most")),
        Figure("on_off", statistics.median(shares), unit, beside),
        Figure("on_off_low", low, unit, beside),
        Figure("on_off_high", high, unit, beside),
    ]


def _planted_figure(planted: Recorded) -> Figure:
    found_us = statistics.median(planted.added_ns) / 1000 / INSTANTS_A_STEP
    target = Target(PLANTED_US, "around", tolerance=TOLERANCE_US)
    return Figure("planted_event_us", found_us, "µs", "planted in each event", PLANTED_US, target)

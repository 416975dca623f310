"""What the serving edge costs a request, and what a second replica brings."""

from __future__ import annotations

import contextlib
import statistics
from collections.abc import Callable, Iterator, Sequence

from demo_engine.bench.edge import overhead_figures
from demo_engine.bench.figures import Figure, Target
from demo_engine.bench.paired import median_interval
from demo_engine.client.records import Call, RunPlan, RunResult
from demo_engine.core.config import EngineConfig
from demo_engine.errors import EngineError
from demo_engine.experiments.processes import Client, running_client, running_server
from demo_engine.recorder.server_trace import ServerTrace
from demo_engine.weights import open_model

SEATS = 4
"""Requests that run at once on a replica; twice as many come, so that one replica takes them in two turns."""
OUTPUT_TOKENS = 16
PROMPT = "Say in a few words why the sky is blue, and then why it is red in the evening."
PAIRS_A_ROUND = 50


def serving_figures(model: str, num_rounds: int, say: Callable[[str], None]) -> list[Figure]:
    """Measure gateway and router beside neither, and a burst on two replicas beside the same on one.

    Args:
        model: The model's folder.
        num_rounds: Bursts of each arm, which take turns.
        say: Takes progress lines.

    Raises:
        EngineError: A request failed.
    """
    say("gateway and router")
    overheads = overhead_figures(model, num_rounds * PAIRS_A_ROUND)
    with contextlib.ExitStack() as stack:
        say("starting servers with one and with two replicas")
        one, two = (stack.enter_context(_client(model, replicas)) for replicas in (1, 2))
        rates: dict[Client, list[float]] = {one: [], two: []}
        for number in range(num_rounds + 1):
            say(f"burst {number} of {num_rounds}" if number else "warm-up")
            for client, measured in rates.items():
                rate = tokens_per_s(_traces(client.run(_burst())))
                if number:
                    measured.append(rate)
    return [*overheads, replicas_figure(rates[one], rates[two])]


def replicas_figure(one: Sequence[float], two: Sequence[float]) -> Figure:
    """Return the throughput of two replicas beside that of one."""
    low, high = median_interval([more / less for less, more in zip(one, two, strict=True)])
    how = (
        f"one replica, the same {2 * SEATS} requests at once, {SEATS} seats and one thread a replica; "
        f"ratio of pairs {low:.2f} to {high:.2f} (95 %), n={len(one)}"
    )
    target = Target(1.8, "at least", of="ratio")
    return Figure("two_replicas", statistics.median(two), "tokens/s", how, statistics.median(one), target)


def tokens_per_s(traces: Sequence[ServerTrace]) -> float:
    """Return all tokens over the time from the first request's headers to the last token."""
    start_ns = min(trace.spans[0].start_ns for trace in traces)
    end_ns = max(trace.tokens.sample_ns[-1] for trace in traces)
    return sum(len(trace.tokens.id) for trace in traces) / (end_ns - start_ns) * 1e9


@contextlib.contextmanager
def _client(model: str, replicas: int) -> Iterator[Client]:
    config = EngineConfig(max_num_seqs=SEATS, replicas=replicas)
    with running_server(model, config, 2 * SEATS) as server, running_client(server, open_model(model).id) as client:
        yield client


def _burst() -> RunPlan:
    return RunPlan([Call(f"r{number}", PROMPT, OUTPUT_TOKENS) for number in range(2 * SEATS)])


def _traces(result: RunResult) -> list[ServerTrace]:
    for call in result.calls:
        if call.server is None:
            raise EngineError(f"a request of the benchmark failed: {call.failure}")
    return [call.server for call in result.calls if call.server is not None]

"""One request as a whole: a longer answer (E22), the talk's request (E23), and a server that has yet to start (E24)."""

from __future__ import annotations

from traces.arms import answered
from traces.metrics import name_sums_ns
from traces.outcomes.claim import Claim, Metric
from traces.outcomes.of_requests import E2E, FAILED, QUEUE, TPOT, TTFT
from traces.schema import Experiment, Request, Run
from traces.spans import request_path

RESIDENT_GAUGE = "resident_bytes"
"""Name of the gauge: memory that the server's processes hold when the run is over; 0 where they end with it."""
START_NAMES = ("launch", "imports", "load", "ready")
"""Spans of a server's start, in their order; they stand on the path of the first request, which waits for them."""


def start_ns(experiment: Experiment, run: Run, request: Request) -> int:
    """Return how long a request waited for its server to start."""
    sums = name_sums_ns(request_path(experiment, run, request))
    return sum(sums.get(name, 0) for name in START_NAMES)


START = Metric(
    "start", "ns", "process started → first request sent; client and server clock; one event is one subject",
    lambda experiment, run: [start_ns(experiment, run, request) for request in answered(run)],
)  # fmt: skip
RESIDENT = Metric(
    "resident", "bytes",
    "memory that the server's processes hold when the run is over, 0 where they end with it; one event is one run",
    lambda _, run: run.gauges.get(RESIDENT_GAUGE, [])[-1:],
)  # fmt: skip

CLAIMS: dict[str, list[Claim]] = {
    "e22": [
        Claim(E2E, "A", "B", "more", "cost"),
        Claim(TTFT, "A", "B", "same", "effect"),
        Claim(TPOT, "A", "B", "same", "effect"),
    ],
    "e23": [
        Claim(QUEUE, "A-idle", "A", "more", "cost"),
        Claim(TTFT, "A-idle", "A", "more", "cost"),
        Claim(E2E, "A-idle", "A", "more", "cost"),
    ],
    "e24": [
        Claim(TTFT, "A", "B", "less", "gain"),
        Claim(START, "A", "B", "less", "gain"),
        Claim(RESIDENT, "A", "B", "more", "cost"),
        Claim(TPOT, "A", "B", "same", "effect"),
        Claim(FAILED, "A", "B", "same", "effect"),
    ],
}

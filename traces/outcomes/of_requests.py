"""Metrics that many experiments ask for: one value for each subject that was answered."""

from __future__ import annotations

from collections.abc import Iterable

from traces.arms import answered
from traces.metrics import e2e_ns, name_sums_ns, tpot_ns, ttft_ns
from traces.outcomes.claim import Metric
from traces.schema import Experiment, Request, Run
from traces.spans import request_path


def request_e2e_ns(experiment: Experiment, run: Run, request: Request) -> int:
    """Return the end-to-end time of a request."""
    return e2e_ns(request_path(experiment, run, request))


def _tpots(experiment: Experiment, run: Run) -> Iterable[float]:
    for request in answered(run):
        if request.num_output_tokens >= 2:
            yield tpot_ns(request, request_path(experiment, run, request))


def _queue_ns(experiment: Experiment, run: Run, request: Request) -> int:
    return name_sums_ns(request_path(experiment, run, request)).get("queue", 0)


def _makespan_ns(experiment: Experiment, run: Run) -> int:
    requests = [*answered(run, "neighbour"), *answered(run)]
    ends = [request.intended_start_ns + request_e2e_ns(experiment, run, request) for request in requests]
    return max(ends) - min(request.intended_start_ns for request in requests)


TTFT = Metric(
    "ttft", "ns", "first token received − intended start; client clock; one event is one subject",
    lambda _, run: [ttft_ns(request) for request in answered(run)],
)  # fmt: skip
TPOT = Metric(
    "tpot", "ns", "(E2E − TTFT) / (output tokens − 1); client clock; one event is one subject",
    lambda experiment, run: list(_tpots(experiment, run)),
)  # fmt: skip
E2E = Metric(
    "e2e", "ns", "last byte received − intended start; client clock; one event is one subject",
    lambda experiment, run: [request_e2e_ns(experiment, run, request) for request in answered(run)],
)  # fmt: skip
FAILED = Metric(
    "failed", "requests", "requests of a run that were refused or broke off, of any role; one event is one run",
    lambda _, run: [sum(request.finish_reason in ("error", "cancelled") for request in run.requests)],
)  # fmt: skip
MAKESPAN = Metric(
    "makespan", "ns", "last byte of all requests − first intended start; client clock; one event is one run",
    lambda experiment, run: [_makespan_ns(experiment, run)],
)  # fmt: skip
QUEUE = Metric(
    "queue", "ns", "first own step begins − request queued; server clock; one event is one subject",
    lambda experiment, run: [_queue_ns(experiment, run, request) for request in answered(run)],
)  # fmt: skip

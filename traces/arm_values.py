"""The values that an arm's measured requests and runs yield, metric by metric."""

from __future__ import annotations

from collections.abc import Sequence

from traces.arms import answered, measured_runs
from traces.bindings import Subject
from traces.metrics import e2e_ns, stage_sums_ns, tpot_ns, ttft_ns
from traces.schema import Arm, Experiment, Run


def finished_subjects(experiment: Experiment, arm: Arm) -> list[Subject]:
    """Return the measured requests of an arm that ran to their end: neighbours and warm-ups are left out."""
    return [subject for run in measured_runs(arm) for subject in _finished(experiment, arm, run)]


def arm_values(experiment: Experiment, arm: Arm) -> dict[str, list[float]]:
    """Return the values of each metric by its name: times in ns, one a request; the throughput in tokens/s, one a run.

    The throughput is that of runs with several subjects: their output tokens over the time from the first intended
    start to the last byte received; client clock.
    """
    values: dict[str, list[float]] = {}
    for run in measured_runs(arm):
        subjects = _finished(experiment, arm, run)
        for subject in subjects:
            request, path = subject.request, subject.path
            values.setdefault("E2E", []).append(e2e_ns(path))
            if request.num_output_tokens >= 1:
                values.setdefault("TTFT", []).append(ttft_ns(request))
            if request.num_output_tokens >= 2:
                values.setdefault("time per token", []).append(tpot_ns(request, path))
            for component, sum_ns in stage_sums_ns(path).items():
                values.setdefault(component, []).append(sum_ns)
        if len(subjects) > 1:
            values.setdefault("throughput", []).append(_tokens_per_s(subjects))
    return values


def _finished(experiment: Experiment, arm: Arm, run: Run) -> list[Subject]:
    return [Subject(experiment, arm, run, request) for request in answered(run)]


def _tokens_per_s(subjects: Sequence[Subject]) -> float:
    start_ns = min(subject.request.intended_start_ns for subject in subjects)
    end_ns = max(subject.request.intended_start_ns + e2e_ns(subject.path) for subject in subjects)
    return sum(subject.request.num_output_tokens for subject in subjects) / ((end_ns - start_ns) / 1e9)

"""Which request of an arm the pictures show: the middle one by the metric that the experiment is about."""

from __future__ import annotations

from statistics import median

from traces import Experiment, Request, Run, TraceError, request_path
from traces.arms import answered
from traces.metrics import e2e_ns
from traces.outcomes import METRICS
from traces.outcomes.wording import metric_words
from traces.schema import Exemplar


def choose_exemplar(experiment: Experiment, runs: list[Run]) -> Exemplar:
    """Return the run whose metric is the middle one, and its subject with the middle end-to-end time.

    Args:
        experiment: Names the metric in its prediction.
        runs: The runs of one arm; warm-ups and runs without a completed subject are not chosen.

    Raises:
        TraceError: There is no run to choose from.
    """
    candidates = [index for index, run in enumerate(runs) if _subjects(run)]
    if not candidates:
        raise TraceError(f"{experiment.id}: no measured run has a completed subject")
    name = experiment.prediction.metric
    words = metric_words(name if name in METRICS else "e2e")
    ordered = sorted(candidates, key=lambda index: _value(experiment, runs[index]))
    chosen = ordered[(len(ordered) - 1) // 2]
    subjects = sorted(_subjects(runs[chosen]), key=lambda request: _e2e_ns(experiment, runs[chosen], request))
    return Exemplar(chosen, subjects[(len(subjects) - 1) // 2].id, f"median {words} of n={len(ordered)}")


def _subjects(run: Run) -> list[Request]:
    return [request for request in answered(run) if request.phase == "measure"]


def _value(experiment: Experiment, run: Run) -> float:
    metric = METRICS.get(experiment.prediction.metric)
    values = [] if metric is None else list(metric.of_run(experiment, run))
    return median(values or [_e2e_ns(experiment, run, request) for request in _subjects(run)])


def _e2e_ns(experiment: Experiment, run: Run, request: Request) -> float:
    return float(e2e_ns(request_path(experiment, run, request)))

"""Which runs of a set are exported."""

from __future__ import annotations

from dataclasses import dataclass

from traces.bindings import Subject
from traces.errors import TraceError
from traces.schema import Arm, Experiment, Run
from traces.storage import TraceSet


@dataclass(frozen=True, slots=True)
class SelectedRun:
    """A run, and where it stands in its set."""

    experiment: Experiment
    arm: Arm
    index: int
    run: Run

    @property
    def subjects(self) -> list[Subject]:
        """All of its requests, neighbours and warm-ups included."""
        return [Subject(self.experiment, self.arm, self.run, request) for request in self.run.requests]


def select_runs(trace_set: TraceSet, experiment_id: str | None = None, arm_id: str | None = None) -> list[SelectedRun]:
    """Return the runs of a set, of one experiment, or of the arms of that name.

    Raises:
        TraceError: The set has no such experiment or arm; the message lists those that it has.
    """
    experiments = select_experiments(trace_set, experiment_id)
    chosen = [(experiment, arm) for experiment in experiments for arm in experiment.arms if arm_id in (None, arm.id)]
    if not trace_set.experiments:
        raise TraceError(f"set {trace_set.name!r} has no experiment; record one with: spanreel profile")
    if not chosen:
        known = ", ".join(dict.fromkeys(arm.id for experiment in experiments for arm in experiment.arms)) or "none"
        raise TraceError(f"no arm {arm_id!r} in {experiment_id or f'set {trace_set.name!r}'}; arms: {known}")
    return [
        SelectedRun(experiment, arm, index, run) for experiment, arm in chosen for index, run in enumerate(arm.runs)
    ]


def select_experiments(trace_set: TraceSet, experiment_id: str | None = None) -> list[Experiment]:
    """Return all experiments of a set, or one.

    Raises:
        TraceError: The set has no such experiment; the message lists those that it has.
    """
    if experiment_id is None:
        return list(trace_set.experiments.values())
    if experiment_id not in trace_set.experiments:
        known = ", ".join(trace_set.experiments) or "none"
        raise TraceError(f"no experiment {experiment_id!r} in set {trace_set.name!r}; experiments: {known}")
    return [trace_set.experiments[experiment_id]]

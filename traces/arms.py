"""An experiment's arms by name, and the runs and requests of an arm that count."""

from __future__ import annotations

from traces.errors import TraceError
from traces.schema import Arm, Experiment, Request, Run


def arm_of(experiment: Experiment, arm_id: str) -> Arm:
    """Return the arm of that name.

    Raises:
        TraceError: The experiment has no such arm.
    """
    for arm in experiment.arms:
        if arm.id == arm_id:
            return arm
    raise TraceError(f"experiment {experiment.id!r} has no arm {arm_id!r}; record it with: spanreel profile")


def measured_runs(arm: Arm) -> list[Run]:
    """Return an arm's runs in their order, warm-ups left out."""
    return [run for run in arm.runs if all(request.phase == "measure" for request in run.requests)]


def answered(run: Run, role: str = "subject") -> list[Request]:
    """Return the requests of a role that were answered to the end, in the plan's order."""
    return [r for r in run.requests if r.role == role and r.finish_reason in ("stop", "length")]

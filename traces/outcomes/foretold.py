"""Predictions beside what was measured: how far off they are, arm by arm."""

from __future__ import annotations

from dataclasses import dataclass

from traces.outcomes.claim import event_values
from traces.outcomes.table import METRICS
from traces.schema import Experiment
from traces.statistics import median

TOLERANCE = 0.25
"""A prediction from calibrated speeds alone hits if what was measured is at most this much longer or shorter."""


@dataclass(frozen=True)
class Foretold:
    """One arm's predicted time, and its median."""

    arm: str
    metric: str
    predicted_ns: float
    measured_ns: float
    num_events: int

    @property
    def ratio(self) -> float:
        """Measured / predicted."""
        return self.measured_ns / self.predicted_ns

    @property
    def is_hit(self) -> bool:
        """Whether it came out as predicted, within the tolerance."""
        return abs(self.ratio - 1) <= TOLERANCE


def foretold(experiment: Experiment) -> list[Foretold]:
    """Return each predicted arm; one without a prediction, or of whose metric nothing was measured, is left out."""
    prediction = experiment.prediction
    metric = METRICS.get(prediction.metric)
    if metric is None:
        return []
    found = []
    for arm in experiment.arms:
        predicted_ns = prediction.by_arm_ns.get(arm.id)
        values = event_values(metric, experiment, arm) if predicted_ns else []
        if predicted_ns and values:
            found.append(Foretold(arm.id, metric.name, predicted_ns, median(values), len(values)))
    return found

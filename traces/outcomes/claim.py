"""A claim compares one metric of two arms; its outcome is what the measurements answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from traces.arms import measured_runs
from traces.errors import TraceError
from traces.schema import Arm, Experiment, Run
from traces.statistics import SAMPLES_FOR_COMPARISON, Interval, difference_interval, is_stable, median

Verdict = Literal["as expected", "opposite", "within the noise", "too few to say"]

SAMPLES_FOR_SEPARATION = 4
"""Smallest n on each side for which equal things lie apart, all of one above all of the other, in 3 % of the cases."""


@dataclass(frozen=True)
class Metric:
    """A number, or several, that one run yields."""

    name: str
    """Such as ``worst_gap``."""
    unit: Literal["ns", "tokens/s", "tokens", "blocks", "requests", "bytes", "share"]
    meaning: str
    """Formula, clock, and what counts as one independent event: a request, a disturbance or a run, never a token."""
    of_run: Callable[[Experiment, Run], Sequence[float]]


@dataclass(frozen=True)
class Claim:
    """In the second arm the metric is less, more or the same as in the first."""

    metric: Metric
    first: str
    second: str
    expected: Literal["less", "more", "same"]
    role: Literal["gain", "cost", "effect"]
    """What the optimization gives, what it costs, or how a quantity follows another (sweeps)."""


@dataclass(frozen=True)
class Outcome:
    """What the measurements answer to a claim."""

    claim: Claim
    first: float
    """Median in the first arm."""
    second: float
    difference: Interval
    """Of second − first, 95 %."""
    num_first: int
    """How many independent events the medians stand on."""
    num_second: int
    is_stable: bool
    """Whether the odd half and the even half of each arm agree."""

    are_apart: bool
    """Whether all values of one arm lie above all of the other."""

    @property
    def verdict(self) -> Verdict:
        """Whether the difference is as expected; inside its own interval it is noise, and ``same`` is then right."""
        num_events = min(self.num_first, self.num_second)
        if num_events < SAMPLES_FOR_SEPARATION:
            return "too few to say"
        is_clear = self.are_apart or num_events >= SAMPLES_FOR_COMPARISON
        sign = ((self.difference.low > 0) - (self.difference.high < 0)) * is_clear
        if self.claim.expected == "same":
            return "opposite" if sign else "as expected"
        if sign == 0:
            return "within the noise"
        return "as expected" if sign == (1 if self.claim.expected == "more" else -1) else "opposite"


def event_values(metric: Metric, experiment: Experiment, arm: Arm) -> list[float]:
    """Return the metric of each independent event of the arm's measured runs, warm-ups left out."""
    return [value for run in measured_runs(arm) for value in metric.of_run(experiment, run)]


def outcomes(experiment: Experiment, claims: Sequence[Claim]) -> list[Outcome]:
    """Evaluate an experiment's claims; one whose arm is not there, or that no run can answer here, is left out.

    Raises:
        TraceError: One arm yields a value and the other none.
    """
    arms = {arm.id: arm for arm in experiment.arms}
    found = []
    for claim in claims:
        if claim.first not in arms or claim.second not in arms:
            continue
        first, second = (event_values(claim.metric, experiment, arms[name]) for name in (claim.first, claim.second))
        if not first and not second:
            continue
        if not first or not second:
            raise TraceError(f"{experiment.id}: no value of {claim.metric.name} in arm {claim.first} or {claim.second}")
        found.append(
            Outcome(
                claim, median(first), median(second), difference_interval(first, second, paired=False),
                len(first), len(second), is_stable(first) and is_stable(second),
                are_apart=max(first) < min(second) or max(second) < min(first),
            )
        )  # fmt: skip
    return found

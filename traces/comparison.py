"""Two trace sets side by side: what ran where, and which times changed by more than their noise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from traces.arm_values import arm_values
from traces.circumstances import Difference, differences, model_notes, work_notes
from traces.schema import COMPONENTS, Arm, Experiment
from traces.statistics import (
    SAMPLES_FOR_COMPARISON,
    Interval,
    bootstrap_interval,
    difference_interval,
    median,
    ratio_interval,
)
from traces.storage import TraceSet

STAGE_SHARE = 0.01
"""A stage is compared where its median is over this share of the median E2E in one of the sets."""

Unit = Literal["total_ns", "per_token_ns", "stage_ns", "tokens/s"]
UNITS: dict[str, Unit] = {
    "TTFT": "total_ns",
    "time per token": "per_token_ns",
    "E2E": "total_ns",
    **dict.fromkeys(COMPONENTS, "stage_ns"),
    "throughput": "tokens/s",
}
"""Unit of each metric, in the order of the table."""

Verdict = Literal["slower", "faster", "same within the noise", "too few to say"]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A median with the interval that it is known to."""

    median: float
    interval: Interval
    num_values: int


@dataclass(frozen=True, slots=True)
class Row:
    """One metric of one arm in both sets."""

    experiment: str
    arm: str
    metric: str
    unit: Unit
    first: Estimate
    second: Estimate
    ratio: float | None
    """second / first; None where the first has a value of zero."""
    ratio_interval: Interval | None
    verdict: Verdict
    """What the second set is."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What two sets say together."""

    differences: list[Difference]
    notes: list[str]
    """Why rows do not compare like with like: another model, another prompt, other settings."""
    rows: list[Row]
    only_first: list[str]
    """Experiments, and arms of common experiments, that the second set lacks."""
    only_second: list[str]


def compare(first: TraceSet, second: TraceSet) -> Comparison:
    """Compare every experiment and arm that both sets hold."""
    ours, theirs = _arms(first), _arms(second)
    notes = model_notes(first.header, second.header)
    rows: list[Row] = []
    for key in ours:
        if key in theirs:
            notes += work_notes(*ours[key], *theirs[key])
            rows += _rows(*ours[key], *theirs[key])
    facts = list(differences(first.header, second.header))
    return Comparison(facts, notes, rows, _missing(first, second), _missing(second, first))


def _rows(experiment: Experiment, arm: Arm, other_experiment: Experiment, other_arm: Arm) -> Iterator[Row]:
    first, second = arm_values(experiment, arm), arm_values(other_experiment, other_arm)
    for metric, unit in UNITS.items():
        if metric not in first or metric not in second:
            continue
        if unit != "stage_ns" or _is_large(metric, first) or _is_large(metric, second):
            yield _row(experiment.id, arm.id, metric, first[metric], second[metric])


def _is_large(stage: str, values: Mapping[str, Sequence[float]]) -> bool:
    return median(values[stage]) > STAGE_SHARE * median(values["E2E"])


def _row(experiment: str, arm: str, metric: str, first: Sequence[float], second: Sequence[float]) -> Row:
    unit = UNITS[metric]
    ratio = ratio_span = None
    if min(first) > 0:
        ratio = median(second) / median(first)
        ratio_span = ratio_interval(first, second)
    verdict: Verdict = "same within the noise"
    change = difference_interval(first, second, paired=False)
    if min(len(first), len(second)) < SAMPLES_FOR_COMPARISON:
        verdict = "too few to say"
    elif not change.contains(0):
        verdict = "slower" if (change.low > 0) == (unit != "tokens/s") else "faster"
    return Row(experiment, arm, metric, unit, _estimate(first), _estimate(second), ratio, ratio_span, verdict)


def _estimate(values: Sequence[float]) -> Estimate:
    return Estimate(median(values), bootstrap_interval(values), len(values))


def _arms(trace_set: TraceSet) -> dict[tuple[str, str], tuple[Experiment, Arm]]:
    return {
        (experiment.id, arm.id): (experiment, arm)
        for experiment in trace_set.experiments.values()
        for arm in experiment.arms
    }


def _missing(trace_set: TraceSet, other: TraceSet) -> list[str]:
    """Name what ``other`` lacks: an experiment once, else its arms."""
    there = _arms(other)
    names = [
        f"{experiment} {arm}" if experiment in other.experiments else experiment
        for experiment, arm in _arms(trace_set)
        if (experiment, arm) not in there
    ]
    return list(dict.fromkeys(names))

"""What an experiment found, in lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from traces import Experiment
from traces.outcomes import CLAIMS, Outcome, outcomes
from traces.wording import total


def outcome_lines(experiment: Experiment) -> Iterator[str]:
    """Yield a line for each claim: both medians, how many events they stand on, and what follows."""
    for outcome in outcomes(experiment, CLAIMS.get(experiment.id, [])):
        yield _line(outcome)


def _line(outcome: Outcome) -> str:
    claim, unit = outcome.claim, outcome.claim.metric.unit
    unstable = "" if outcome.is_stable else ", unstable"
    return (
        f"{claim.role} {claim.metric.name.replace('_', ' ')}: {claim.first} {_value(outcome.first, unit)} "
        f"(n={outcome.num_first}), {claim.second} {_value(outcome.second, unit)} (n={outcome.num_second}): "
        f"{outcome.verdict}{unstable}"
    )


def _value(value: float, unit: str) -> str:
    if unit == "ns":
        return total(round(value))
    if unit == "share":
        return f"{value:.1%}"
    if unit == "bytes":
        return f"{value / 1e6:.1f} MB"
    return f"{value:.3g} {unit}"

"""Outcomes in words."""

from __future__ import annotations

from collections.abc import Sequence

from traces.outcomes.claim import Outcome
from traces.outcomes.foretold import Foretold
from traces.wording import total

_SHORT = {"e2e": "E2E", "ttft": "TTFT", "tpot": "time per token"}


def metric_words(name: str) -> str:
    """Return a metric's name as a reader knows it: ``TTFT``, ``worst gap``."""
    return _SHORT.get(name, name.replace("_", " "))


def outcome_line(outcome: Outcome) -> str:
    """Return one line: what was compared, both medians and the events that they stand on, and what follows."""
    claim, unit = outcome.claim, outcome.claim.metric.unit
    unsteady = "" if outcome.is_stable or outcome.verdict == "too few to say" else ", unstable"
    return (
        f"{claim.role} {metric_words(claim.metric.name)}: "
        f"{claim.first} {value_words(outcome.first, unit)} (n={outcome.num_first}), "
        f"{claim.second} {value_words(outcome.second, unit)} (n={outcome.num_second}), "
        f"expected {claim.expected}: {outcome.verdict}{unsteady}"
    )


def foretold_line(arms: Sequence[Foretold]) -> str:
    """Return one line: what was predicted for each arm before the first run, what came, and whether that is a hit."""
    each = [
        f"{one.arm} {total(one.predicted_ns)}, measured {total(one.measured_ns)} "
        f"({one.ratio:.2f}×, {'hit' if one.is_hit else 'missed'})"
        for one in arms
    ]
    return f"predicted {metric_words(arms[0].metric)}: {'; '.join(each)}"


def value_words(value: float, unit: str) -> str:
    """Return a metric's value with its unit."""
    if unit == "ns":
        return total(round(value))
    if unit == "share":
        return f"{value:.1%}"
    if unit == "bytes":
        return f"{value / 1e6:.1f} MB"
    return f"{value:.4g} {unit}"

"""Whether two sets answer the same claims alike: the question behind "measure it again"."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from traces.outcomes.claim import Outcome, outcomes
from traces.outcomes.table import CLAIMS
from traces.storage import TraceSet


@dataclass(frozen=True)
class Agreement:
    """One claim, answered by two sets."""

    experiment_id: str
    first: Outcome
    second: Outcome

    @property
    def holds(self) -> bool:
        """Whether both differences point the same way, or neither can be told from zero."""
        if self.first.difference.contains(0) and self.second.difference.contains(0):
            return True
        return _sign(self.first.second - self.first.first) == _sign(self.second.second - self.second.first)


def agreements(first: TraceSet, second: TraceSet) -> Iterator[Agreement]:
    """Yield every claim whose experiment and arms both sets hold."""
    for experiment_id in sorted(first.experiments.keys() & second.experiments.keys()):
        claims = CLAIMS.get(experiment_id, [])
        found = {o.claim: o for o in outcomes(second.experiments[experiment_id], claims)}
        for outcome in outcomes(first.experiments[experiment_id], claims):
            if outcome.claim in found:
                yield Agreement(experiment_id, outcome, found[outcome.claim])


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)

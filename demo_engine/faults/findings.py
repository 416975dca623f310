"""What came of a fault, and what was promised about it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, NamedTuple


@dataclass
class Findings:
    """What was seen; a promise that did not hold is told in words."""

    seen: str = ""
    broken: list[str] = field(default_factory=list)
    late: list[str] = field(default_factory=list)
    """Bounds on time that were missed: these depend on the machine and on what else it does."""

    @property
    def ok(self) -> bool:
        """Whether everything held."""
        return not self.broken and not self.late

    def require(self, holds: bool, otherwise: str) -> None:
        """Note a promise that did not hold."""
        if not holds:
            self.broken.append(otherwise)

    def within(self, what: str, measured_ms: float, most_ms: float) -> None:
        """Note a time that is longer than it should be; an infinite one is a broken promise."""
        if math.isinf(measured_ms):
            self.broken.append(f"{what}: for ever")
        elif measured_ms > most_ms:
            self.late.append(f"{what} {measured_ms:.0f} ms, more than {most_ms:.0f} ms")


class Fault(NamedTuple):
    """A row of the table."""

    name: str
    done: str
    """What is done; ``{}`` stands for how often."""
    expected: str
    make: Callable[[str, int], Coroutine[Any, Any, Findings]]
    """Does it with a model, so often."""
    size: int
    quick_size: int


def percentile(samples: list[float], share: float) -> float:
    """Return the sample below which this share of all lies; 0 if there are none."""
    return sorted(samples)[min(len(samples) - 1, int(share * len(samples)))] if samples else 0.0


def counted(endings: Counter[str]) -> str:
    """Return how often there was what, the most frequent first."""
    return ", ".join(f"{count} {ending}" for ending, count in endings.most_common())

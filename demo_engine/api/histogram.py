"""Histograms as Prometheus counts them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple


class Sample(NamedTuple):
    """One line: what follows the metric's name, and the value."""

    suffix: str
    labels: dict[str, str]
    value: float


class Histogram:
    """How many observations were at most so large, and their sum."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self._sum = 0.0

    def observe(self, value: float) -> None:
        """Count a value."""
        self._counts[bisect_left(self._bounds, value)] += 1
        self._sum += value

    def samples(self) -> Iterator[Sample]:
        """Yield the lines."""
        total = 0
        for bound, count in zip((*map(str, self._bounds), "+Inf"), self._counts, strict=True):
            total += count
            yield Sample("_bucket", {"le": bound}, total)
        yield Sample("_sum", {}, self._sum)
        yield Sample("_count", {}, total)

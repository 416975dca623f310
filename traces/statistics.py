"""How sure a few measurements make us: medians, intervals by resampling, and whether a run was steady.

All intervals are Efron's percentile bootstrap (B. Efron, "Bootstrap methods: another look at the jackknife", 1979):
draw as many values as there are, with replacement, take the statistic of the draw, do so many times, and cut the same
share from both ends of the sorted results. Nothing is assumed of the distribution, which latencies need. The draws come
from a fixed seed, so equal values give equal intervals.

Few values make narrow promises. Where both sides are the same thing measured n times, one interval end of the
difference is on the wrong side of zero in 5 % of the cases for n = 3 (in pairs 13 %), in 4 % (6 %) for n = 4, and in 1
to 2 % (2 to 3 %) from n = 5 on: 1,500 trials with normal values. From n = 6 on, an interval that spans all values
covers the true median with 95 % or more, by 1 − 2 · 0.5ⁿ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from statistics import median as middle

from traces.errors import TraceError

SEED = 20260701
RESAMPLES = 2000
CONFIDENCE = 0.95

SAMPLES_FOR_INTERVAL = 6
"""Smallest n whose whole range covers the true median with 95 %."""
SAMPLES_FOR_COMPARISON = 5
"""Smallest n on each side for which one of two equal things is called more than the other in few cases only."""
SAMPLES_FOR_STABILITY = 3
"""Smallest n whose odd and even half can be compared at all."""

Statistic = Callable[[Sequence[float]], float]


@dataclass(frozen=True, slots=True)
class Interval:
    """A closed interval."""

    low: float
    high: float

    def contains(self, value: float) -> bool:
        """Whether ``value`` lies in the interval, its ends included."""
        return self.low <= value <= self.high


def median(values: Sequence[float]) -> float:
    """Return the middle value, or the mean of the two middle ones.

    Raises:
        TraceError: There is no value.
    """
    _need_values(values)
    return middle(values)


def bootstrap_interval(
    values: Sequence[float],
    statistic: Statistic = median,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Interval:
    """Return the interval of a statistic of ``values``.

    Raises:
        TraceError: There is no value.
    """
    _need_values(values)
    drawn = (statistic([values[index] for index in draw]) for draw in _draws(len(values), resamples, seed))
    return _cut(drawn, confidence)


def difference_interval(
    first: Sequence[float], second: Sequence[float], *, paired: bool, confidence: float = CONFIDENCE, seed: int = SEED
) -> Interval:
    """Return the interval of median(second) − median(first).

    Args:
        first: Values of one arm.
        second: Values of the other.
        paired: Whether the values of an index were measured in the same round, as where arms alternate; what a round
            did to both then cancels out.
        confidence: Share of the resampled differences inside.
        seed: Of the draws.

    Raises:
        TraceError: A side is empty, or paired sides differ in length.
    """
    return _cut((b - a for a, b in _resampled_medians(first, second, paired, seed)), confidence)


def ratio_interval(
    first: Sequence[float],
    second: Sequence[float],
    *,
    paired: bool = False,
    confidence: float = CONFIDENCE,
    seed: int = SEED,
) -> Interval:
    """Return the interval of median(second) / median(first); the arguments are those of ``difference_interval``.

    Raises:
        TraceError: A side is empty, paired sides differ in length, or ``first`` holds a value that is not above zero.
    """
    if any(value <= 0 for value in first):
        raise TraceError("a ratio needs values above zero to divide by")
    return _cut((b / a for a, b in _resampled_medians(first, second, paired, seed)), confidence)


def clearly_more(values: Sequence[float], than: Sequence[float], *, paired: bool = False) -> bool:
    """Whether the median of ``values`` is more than that of ``than``, with zero outside the difference's interval.

    Fewer than ``SAMPLES_FOR_COMPARISON`` values on a side are never clear.

    Raises:
        TraceError: Paired sides differ in length.
    """
    if min(len(values), len(than)) < SAMPLES_FOR_COMPARISON:
        return False
    return difference_interval(than, values, paired=paired).low > 0


def halves(values: Sequence[float]) -> tuple[float, float]:
    """Return the medians of the first, third, fifth … value and of the second, fourth, sixth … one.

    Raises:
        TraceError: There are fewer than two values.
    """
    return median(values[0::2]), median(values[1::2])


def is_stable(values: Sequence[float], tolerance: float = 0.10) -> bool:
    """Whether the odd half and the even half of a run tell the same.

    They do if their medians are at most ``tolerance`` of the whole median apart. From twice ``SAMPLES_FOR_COMPARISON``
    values on they also do if zero lies in the interval of their difference; with fewer values that interval nearly
    always holds zero, so there the tolerance alone decides. Fewer than ``SAMPLES_FOR_STABILITY`` values are not stable.
    """
    if len(values) < SAMPLES_FOR_STABILITY:
        return False
    odd, even = halves(values)
    if abs(odd - even) <= tolerance * abs(median(values)):
        return True
    if len(values) < 2 * SAMPLES_FOR_COMPARISON:
        return False
    return difference_interval(values[0::2], values[1::2], paired=False).contains(0)


def _resampled_medians(
    first: Sequence[float], second: Sequence[float], paired: bool, seed: int
) -> Iterator[tuple[float, float]]:
    _need_values(first)
    _need_values(second)
    if paired and len(first) != len(second):
        raise TraceError(f"{len(first)} and {len(second)} values do not pair; compare them unpaired")
    first_draws = _draws(len(first), RESAMPLES, seed)
    second_draws = first_draws if paired else _draws(len(second), RESAMPLES, seed + 1)
    for first_draw, second_draw in zip(first_draws, second_draws, strict=True):
        yield middle([first[index] for index in first_draw]), middle([second[index] for index in second_draw])


@lru_cache(maxsize=16)
def _draws(count: int, resamples: int, seed: int) -> list[list[int]]:
    """Return which values each resample takes. Kept, because drawing costs more than all that follows."""
    random = Random(seed)  # noqa: S311 - draws, not secrets
    return [random.choices(range(count), k=count) for _ in range(resamples)]


def _cut(drawn: Iterator[float], confidence: float) -> Interval:
    """Cut (1 − confidence) / 2 of the results from each end."""
    ordered = sorted(drawn)
    outside = int(len(ordered) * (1 - confidence) / 2)
    return Interval(ordered[outside], ordered[-1 - outside])


def _need_values(values: Sequence[float]) -> None:
    if not values:
        raise TraceError("no value to take a median of")

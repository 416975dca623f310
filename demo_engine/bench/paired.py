"""Two ways of doing a thing, compared pair by pair, so that slow changes of the machine meet both alike."""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Sequence

NUM_RESAMPLES = 2000
CONFIDENCE = 0.95


def abba_differences(first: Callable[[], float], second: Callable[[], float], num_rounds: int) -> list[float]:
    """Measure in the order first, second, second, first; whatever drifts evenly cancels within a round.

    Returns:
        For each round, how much more the first takes than the second, on average.
    """
    differences = []
    for _ in range(num_rounds):
        before, *middle, after = first(), second(), second(), first()
        differences.append((before + after - sum(middle)) / 2)
    return differences


def median_interval(samples: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % interval of the median: what it would be in other samples like these, by bootstrap."""
    draw = random.Random(len(samples))  # noqa: S311 (resampling, no secret)
    medians = sorted(statistics.median(draw.choices(samples, k=len(samples))) for _ in range(NUM_RESAMPLES))
    tail = round(NUM_RESAMPLES * (1 - CONFIDENCE) / 2)
    return medians[tail], medians[-1 - tail]


def slope(xs: Sequence[float], ys: Sequence[float]) -> float:
    """Return the slope of the straight line that fits best."""
    return statistics.linear_regression(xs, ys).slope

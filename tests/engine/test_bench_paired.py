"""Comparing two ways pair by pair: drift cancels, intervals hold what they should."""

from __future__ import annotations

import statistics
from itertools import count

from hypothesis import given
from hypothesis import strategies as st

from demo_engine.bench.paired import abba_differences, median_interval, slope


def test_the_two_take_turns_as_abba():
    """Each round is first, second, second, first."""
    order = []
    abba_differences(lambda: order.append("a") or 0, lambda: order.append("b") or 0, num_rounds=2)
    assert "".join(order) == "abbaabba"


def test_even_drift_cancels_within_a_round():
    """A machine that gets slower with every turn does not change what the first costs more."""
    drift = count()
    first, second = (lambda: 105 + 7 * next(drift)), (lambda: 100 + 7 * next(drift))
    assert abba_differences(first, second, num_rounds=5) == [5] * 5


def test_an_interval_is_the_same_each_time():
    """Resampling is seeded, so that a table can be compared with another."""
    samples = [3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0]
    assert median_interval(samples) == median_interval(samples)


@given(st.lists(st.floats(-1e6, 1e6), min_size=9, max_size=40))
def test_an_interval_holds_the_median_and_stays_within_the_samples(samples):
    """It never reaches beyond the least and the greatest sample."""
    low, high = median_interval(samples)
    assert min(samples) <= low <= statistics.median(samples) <= high <= max(samples)


def test_one_wild_sample_does_not_move_the_interval_to_itself():
    """A pause of the whole machine in one round of forty stays out of the interval."""
    assert median_interval([1.0] * 39 + [1e9]) == (1.0, 1.0)


def test_a_slope_is_what_each_unit_more_costs():
    """Twelve a token, whatever the start."""
    assert slope([128, 512, 1024], [90_000 + 12 * length for length in (128, 512, 1024)]) == 12

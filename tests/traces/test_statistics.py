"""Statistics of few values: what must hold of every sample, not of one lucky one."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from traces import TraceError
from traces.statistics import (
    SAMPLES_FOR_COMPARISON,
    bootstrap_interval,
    clearly_more,
    difference_interval,
    halves,
    is_stable,
    median,
    ratio_interval,
)

durations = st.lists(st.integers(1, 10**12), min_size=1, max_size=20)
comparable = st.lists(st.integers(1, 10**12), min_size=SAMPLES_FOR_COMPARISON, max_size=20)
settings.register_profile("resampling", parent=settings.get_profile("unhurried"), max_examples=40)
resampling = settings.get_profile("resampling")


@resampling
@given(durations)
def test_an_interval_contains_the_median_and_lies_in_the_range(values: list[int]) -> None:
    """The sample's own median is inside, and no end is outside the values."""
    interval = bootstrap_interval(values)
    assert interval.contains(median(values))
    assert min(values) <= interval.low <= interval.high <= max(values)


@resampling
@given(durations, durations)
def test_equal_values_give_equal_intervals(first: list[int], second: list[int]) -> None:
    """Nothing depends on the time, the process or what was computed before."""
    once = difference_interval(first, second, paired=False)
    bootstrap_interval(second)
    assert difference_interval(list(first), list(second), paired=False) == once


@resampling
@given(durations, durations, st.sampled_from([0.25, 2, 1024]))
def test_intervals_scale_with_the_unit(first: list[int], second: list[int], factor: float) -> None:
    """In another unit the same measurements have the same interval, and ratios do not change."""
    scaled_first, scaled_second = ([value * factor for value in values] for values in (first, second))
    interval, scaled = bootstrap_interval(first), bootstrap_interval(scaled_first)
    assert (scaled.low, scaled.high) == (interval.low * factor, interval.high * factor)
    difference = difference_interval(first, second, paired=False)
    scaled = difference_interval(scaled_first, scaled_second, paired=False)
    assert (scaled.low, scaled.high) == (difference.low * factor, difference.high * factor)
    assert ratio_interval(scaled_first, scaled_second) == ratio_interval(first, second)


@resampling
@given(st.integers(1, 10**12), st.integers(1, 20))
def test_identical_values_have_no_width(value: int, count: int) -> None:
    """Where every measurement is the same, so is every resample."""
    interval = bootstrap_interval([value] * count)
    assert interval.low == interval.high == value


@resampling
@given(comparable, st.booleans())
def test_a_shift_beyond_the_range_is_always_seen(values: list[int], paired: bool) -> None:
    """If the least of one arm is above the greatest of the other, it is clearly more, and never the other way."""
    shifted = [value + max(values) - min(values) + 1 for value in values]
    assert clearly_more(shifted, values, paired=paired)
    assert not clearly_more(values, shifted, paired=paired)


@resampling
@given(comparable, st.booleans())
def test_a_tie_is_never_clear(values: list[int], paired: bool) -> None:
    """An arm is not clearly more than itself."""
    assert not clearly_more(values, values, paired=paired)


def test_few_values_are_never_clear() -> None:
    """However far apart, one value less than a comparison needs decides nothing."""
    few = [1] * (SAMPLES_FOR_COMPARISON - 1)
    enough = [100] * SAMPLES_FOR_COMPARISON
    assert not clearly_more(enough, few)
    assert clearly_more(enough, [*few, 1])


def test_pairs_cancel_what_a_round_did_to_both_arms() -> None:
    """A small gain under a large drift is seen in pairs, and is noise without them."""
    first = [100.0 + 20 * index for index in range(9)]
    second = [value + 3 + (index % 2) for index, value in enumerate(first)]
    assert clearly_more(second, first, paired=True)
    assert not clearly_more(second, first)


def test_the_same_thing_is_called_different_rarely() -> None:
    """Of 300 pairs of arms that do not differ, at most one in twenty is called more."""
    random = Random(5)  # noqa: S311 - draws, not secrets
    arms = [[random.gauss(100, 5) for _ in range(SAMPLES_FOR_COMPARISON)] for _ in range(600)]
    wrong = sum(clearly_more(first, second) for first, second in zip(arms[::2], arms[1::2], strict=True))
    assert wrong <= 15


def test_the_difference_is_second_less_first() -> None:
    """Its sign says what the second arm does to the first."""
    interval = difference_interval([10, 11, 12, 11, 10], [20, 21, 22, 21, 20], paired=False)
    assert 8 <= interval.low <= 10 <= interval.high <= 12
    ratio = ratio_interval([10, 11, 12, 11, 10], [20, 21, 22, 21, 20])
    assert 20 / 12 <= ratio.low <= 21 / 11 <= ratio.high <= 2.2


def test_halves_alternate() -> None:
    """The first, third and fifth value against the second and fourth."""
    assert halves([1, 10, 2, 20, 3]) == (2, 15)


@pytest.mark.parametrize(
    ("values", "stable"),
    [
        ([100], False),
        ([100, 100], False),
        ([100, 105, 100], True),
        ([100, 150, 100], False),
        ([100, 112, 101, 113, 100, 114], False),
        ([80, 130, 120, 75, 140, 150, 60, 128, 90, 70, 118, 95], True),
        ([100, 150] * 10, False),
        ([0, 0, 0], True),
    ],
)
def test_a_run_is_stable_if_its_halves_agree(values: list[float], stable: bool) -> None:
    """Within the tolerance, or within the noise where there are values enough to know the noise."""
    assert is_stable(values) is stable


def test_what_cannot_be_computed_says_so() -> None:
    """No value, sides that do not pair, and a ratio to zero are errors with a reason."""
    with pytest.raises(TraceError, match="no value"):
        bootstrap_interval([])
    with pytest.raises(TraceError, match="no value"):
        difference_interval([1], [], paired=False)
    with pytest.raises(TraceError, match="2 and 3 values do not pair"):
        difference_interval([1, 2], [1, 2, 3], paired=True)
    with pytest.raises(TraceError, match="above zero"):
        ratio_interval([1, 0], [1, 2])

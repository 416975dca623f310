"""The axis is linear, round and readable at any magnitude."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from scenes.grammar.scale import END_CLEAR_PX, PLOT_WIDTH_PX, PLOT_X0_PX, TICK_SPACING_MIN_PX, round_scale, ticks

durations = st.integers(min_value=10_000, max_value=600 * 10**9)


@given(durations)
def test_the_longest_bar_fits_and_fills_at_least_two_thirds(longest_ns):
    """No scale wastes the plot, and none lets the end touch its edge."""
    width = round_scale(longest_ns).width(longest_ns)
    assert PLOT_WIDTH_PX * 0.6 <= width <= PLOT_WIDTH_PX - END_CLEAR_PX + 1e-6


@given(durations)
def test_ticks_are_even_start_at_zero_and_name_the_unit_once(longest_ns):
    """Ticks stand at equal distances of at least 180 px; the unit hangs behind the last number only."""
    scale = round_scale(longest_ns)
    marks = ticks(scale, longest_ns)
    xs = [scale.x(mark.value_ns) for mark in marks]
    gaps = {round(after - before, 3) for before, after in itertools.pairwise(xs)}
    assert marks[0].number == "0"
    assert xs[0] == PLOT_X0_PX
    assert len(gaps) <= 1
    assert all(gap >= TICK_SPACING_MIN_PX - 0.01 for gap in gaps)
    assert [bool(mark.unit) for mark in marks] == [False] * (len(marks) - 1) + [True]


@given(durations)
def test_numbers_on_ticks_say_where_the_ticks_stand(longest_ns):
    """A printed number times its unit is the tick's value, to the digit."""
    marks = ticks(round_scale(longest_ns), longest_ns)
    unit_ns = {"s": 10**9, "ms": 10**6, "µs": 10**3}[marks[-1].unit.strip()]
    assert all(abs(float(mark.number) * unit_ns - mark.value_ns) < 1 for mark in marks)


def test_a_request_of_two_seconds_is_drawn_at_six_hundred_px_a_second():
    """The scale of the mock-up: 2.31 s at 600 px/s."""
    assert round_scale(2_310_000_000).px_per_ns * 1e9 == 600

"""Edges finer than a pixel, on rows whose edges are known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanreel.verify.profile import find_pulse, find_step, runs

WIDTH = 120
levels = st.floats(30, 220)


def drawn(*stretches: tuple[float, float, float], ground: float = 40.0) -> np.ndarray:
    """Return a row with sharp stretches (from, to, level), each pixel the mean of what it covers, slightly blurred."""
    fine = np.full(WIDTH * 100, ground)
    for first, end, level in stretches:
        fine[round(first * 100) : round(end * 100)] = level
    row = fine.reshape(WIDTH, 100).mean(axis=1)
    return np.convolve(np.pad(row, 2, mode="edge"), [0.05, 0.15, 0.6, 0.15, 0.05], mode="valid").astype(np.float32)


@settings(deadline=None)
@given(st.floats(40, 80), levels, levels, st.floats(-3, 3))
def test_a_step_is_found_within_a_tenth_of_a_pixel(edge, left, right, off) -> None:
    """Wherever it lies in its pixel, and if it is looked for three pixels beside."""
    if abs(left - right) < 24:
        return
    row = drawn((0, edge, left), (edge, WIDTH, right))
    found = find_step(row, edge + off, left, right, 6, 30)
    assert found == pytest.approx(edge, abs=0.1)


@settings(deadline=None)
@given(st.floats(40, 80), st.floats(2, 4), levels)
def test_a_pulse_is_found_with_its_width(middle, width, ground) -> None:
    """A separator or a hairline: its middle, and the width that its sum stands for."""
    if abs(ground - 235) < 40:
        return
    row = drawn((middle - width / 2, middle + width / 2, 235), ground=ground)
    found = find_pulse(row, middle + 2, (ground, ground), 235, 20)
    assert found is not None
    assert found.centre == pytest.approx(middle, abs=0.1)
    assert found.width == pytest.approx(width, abs=0.3)


def test_what_is_not_there_is_not_found() -> None:
    """An even row has neither step nor pulse, and a step in the other direction is none."""
    row = drawn((60, WIDTH, 160))
    assert find_step(row, 60, 160, 40, 6, 30) is None
    assert find_step(drawn(), 60, 40, 160, 6, 30) is None
    assert find_pulse(drawn(), 60, (40, 40), 235, 20) is None


def test_the_nearest_of_several_steps_is_taken() -> None:
    """Two bars of one height: the edge that is looked for is the one nearby."""
    row = drawn((20, 40, 160), (70, 90, 160))
    assert find_step(row, 68, 40, 160, 6, 60) == pytest.approx(70, abs=0.1)
    assert find_step(row, 24, 40, 160, 6, 60) == pytest.approx(20, abs=0.1)


@settings(deadline=None)
@given(st.lists(st.booleans(), max_size=60))
def test_runs_give_back_the_mask(mask) -> None:
    """First and end of each run are enough to draw the mask again."""
    again = np.zeros(len(mask), bool)
    for first, end in runs(np.array(mask, bool)):
        assert first < end
        again[first:end] = True
    assert again.tolist() == mask

"""The step log keeps the newest steps and says which it no longer has."""

from __future__ import annotations

import pytest

from demo_engine.core.step_log import COLUMNS, StepLog


def filled(capacity: int, count: int) -> StepLog:
    """Return a log in which step n holds the number n everywhere."""
    log = StepLog(capacity)
    for number in range(count):
        log.append((number,) * len(COLUMNS), (f"r{number}",), ())
    return log


def test_steps_keep_their_numbers_when_the_log_wraps():
    """After a wrap the newest steps are found under their own numbers."""
    log = filled(capacity=4, count=10)
    assert log.oldest() == 6
    assert log.columns(6, 9)["flops"] == [6, 7, 8, 9]
    assert log.ids(8, 9)[0] == [["r8"], ["r9"]]


def test_a_step_that_was_overwritten_is_an_error():
    """Asking for a step that is gone fails instead of giving another step's numbers."""
    log = filled(capacity=4, count=10)
    with pytest.raises(IndexError, match="not in the log"):
        log.columns(5, 7)


def test_a_step_that_has_not_run_is_an_error():
    """Asking for a step of the future fails."""
    with pytest.raises(IndexError, match="not in the log"):
        filled(capacity=4, count=2).columns(0, 2)


def test_a_row_of_another_width_is_an_error():
    """A step with a number too few or too many is refused instead of shifting all later ones."""
    for width in (len(COLUMNS) - 1, len(COLUMNS) + 1):
        with pytest.raises(ValueError, match="different structures"):
            StepLog(4).append((1,) * width, (), ())

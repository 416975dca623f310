"""The scheduling benchmark keeps its batch full and its queue long, so that its figures mean what their names say."""

from __future__ import annotations

import pytest

from demo_engine.bench.scheduling import NUM_RUNNING, OUTPUT_TOKENS, Churn, scheduling_figures


@pytest.mark.parametrize("num_waiting", [5, 100])
def test_a_queue_under_churn_stays_as_long_as_it_is(num_waiting):
    """A sixteenth of the batch has left with each step, as many have arrived, and the next step lets them in."""
    leaving = NUM_RUNNING // OUTPUT_TOKENS
    churn = Churn(num_waiting)
    churn.turn()
    arrived = churn.num_arrived
    for _ in range(3):
        churn.turn()
        assert (churn.num_running, churn.num_waiting) == (NUM_RUNNING - leaving, num_waiting + leaving)
    assert churn.num_arrived - arrived > NUM_RUNNING


def test_every_figure_is_there_beside_its_baseline():
    """The long queue is compared with the short one of the same run, and each figure has a positive value."""
    figures = scheduling_figures(num_turns=1)
    assert [figure.name for figure in figures] == ["sched_us_64", "sched_waiting_100", "sched_waiting_10000"]
    assert all(figure.value is not None and figure.value > 0 for figure in figures)
    assert figures[2].baseline_value == figures[1].value
    assert [figure.record()["target"] for figure in figures] == [150, None, 1.5]

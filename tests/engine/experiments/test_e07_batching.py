"""E7 as planned: twelve chats, four seats, and one setting between the arms."""

from __future__ import annotations

import pytest

from demo_engine.experiments.e07_batching import LONGEST, NUM_CHATS, NUM_SEATS, QUICK_LONGEST, SHORTEST, plan
from planning import claims_name_arms, differing_settings, is_reproducible, is_sealed, make_context
from traces.outcomes.scheduling import CLAIMS


@pytest.fixture(params=[False, True], ids=["full", "quick"])
def context(request):
    """A context for each size of the experiment."""
    return make_context(quick=request.param)


def test_the_arms_differ_in_how_a_batch_is_filled(context):
    """Same chats, same seats."""
    static, continuous = plan(context).arms
    assert differing_settings(static, continuous) == {"batching"}
    assert static.make_run(2) == continuous.make_run(2) != continuous.make_run(3)
    assert static.engine.max_num_seqs == continuous.engine.max_num_seqs == NUM_SEATS


def test_answers_have_very_different_lengths_in_another_order_each_time(context):
    """The lengths of every run are the same ones, so that rounds compare; all chats come at once, each its own."""
    runs = [plan(context).arms[0].make_run(seed) for seed in (1, 2)]
    lengths = [[call.max_tokens for call in run.calls] for run in runs]
    longest = QUICK_LONGEST if context.quick else LONGEST
    assert [min(lengths[0]), max(lengths[0]), len(lengths[0])] == [SHORTEST, longest, NUM_CHATS]
    assert lengths[0] != lengths[1]
    assert sorted(lengths[0]) == sorted(lengths[1])
    assert len({call.prompt for run in runs for call in run.calls}) == 2 * NUM_CHATS
    assert {call.at_ms for call in runs[0].calls} == {0}


def test_the_prediction_is_sealed_and_expects_a_gain(context):
    """It comes from the scheduler's own steps, and can be made again."""
    first, second = plan(context), plan(context)
    assert is_sealed(first.prediction)
    assert is_reproducible(first, second)
    assert first.prediction.by_arm_ns["B"] < first.prediction.by_arm_ns["A"]


def test_it_stays_small(context):
    """Within its budget, and with an arm for every claim."""
    made = plan(context)
    assert made.budget_s <= (9 if context.quick else 90)
    assert claims_name_arms(made, CLAIMS["e07"])

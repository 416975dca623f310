"""E14 as planned: the same short chats, more and more of them at once."""

from __future__ import annotations

import itertools

import pytest

from demo_engine.experiments.e14_batch_size import OUTPUT_TOKENS, PROMPT_TOKENS, QUICK_SIZES, SIZES, plan
from planning import claims_name_arms, differing_settings, is_reproducible, is_sealed, make_context
from traces.outcomes.sweeps import CLAIMS


@pytest.fixture(params=[False, True], ids=["full", "quick"])
def context(request):
    """A context for each size of the experiment."""
    return make_context(quick=request.param)


def test_each_arm_asks_as_many_at_once_as_it_says(context):
    """All start together, with prompts of one length and answers of one length."""
    wanted = QUICK_SIZES if context.quick else SIZES
    runs = [arm.make_run(1).calls for arm in plan(context).arms]
    assert [len(calls) for calls in runs] == list(wanted)
    calls = runs[-1]
    assert {context.num_tokens(call.prompt) for call in calls} == {PROMPT_TOKENS}
    assert {(call.max_tokens, call.at_ms, call.after) for call in calls} == {(OUTPUT_TOKENS, 0.0, None)}
    assert len({call.prompt for call in calls}) == len(calls)


def test_a_small_batch_is_a_part_of_the_larger_ones(context):
    """Who is there alone is there in company, with the same prompt; another seed brings others."""
    arms = plan(context).arms
    for smaller, larger in itertools.pairwise(arms):
        calls = smaller.make_run(2).calls
        assert larger.make_run(2).calls[: len(calls)] == calls
    assert arms[0].make_run(2) == arms[0].make_run(2) != arms[0].make_run(3)


def test_one_engine_serves_them_all_and_refuses_none(context):
    """The largest batch fits into a step, and nobody has to wait for a place in the queue."""
    made = plan(context)
    assert differing_settings(*made.arms) == set()
    assert made.arms[0].engine.max_num_seqs >= SIZES[-1]
    assert min(arm.max_num_queued for arm in made.arms) >= SIZES[-1]


def test_the_prediction_is_sealed_and_bends_where_arithmetic_begins_to_count(context):
    """The first few are predicted to cost next to nothing, and sixteen more than the memory allows."""
    first, second = plan(context), plan(context)
    assert is_sealed(first.prediction)
    assert is_reproducible(first, second)
    by_arm_ns = first.prediction.by_arm_ns
    assert by_arm_ns["b4"] < 1.02 * by_arm_ns["b1"]
    assert by_arm_ns["b16"] > 1.3 * by_arm_ns["b4"]


def test_it_stays_small(context):
    """Within its budget, and the full plan has an arm for every claim."""
    made = plan(context)
    assert made.budget_s <= (9 if context.quick else 90)
    if not context.quick:
        assert claims_name_arms(made, CLAIMS["e14"])

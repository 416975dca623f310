"""E12 as planned: four chats, and blocks for four or for a little over three."""

from __future__ import annotations

import pytest

from demo_engine.experiments.e12_pool_size import EVERY_MS, NUM_CHATS, OUTPUT_TOKENS, VICTIM, plan
from planning import claims_name_arms, differing_settings, is_reproducible, is_sealed, make_context
from traces.outcomes.caching import CLAIMS, chats_that_fit


@pytest.fixture(params=[False, True], ids=["full", "quick"])
def context(request):
    """A context for each size of the experiment."""
    return make_context(quick=request.param)


def test_the_arms_differ_in_the_pool_alone(context):
    """Same chats at the same times; only the number of blocks is another."""
    large, small = plan(context).arms
    assert differing_settings(large, small) == {"num_kv_blocks"}
    assert large.make_run(2) == small.make_run(2) != large.make_run(3)


def test_all_chats_fit_into_the_large_pool_and_all_but_one_into_the_small(context):
    """The small pool has room for the others and for the victim's beginning, so that it starts and then loses it."""
    large, small = (arm.engine for arm in plan(context).arms)
    run = plan(context).arms[0].make_run(1)
    lengths = {context.num_tokens(call.prompt) + call.max_tokens for call in run.calls}
    assert len(lengths) == 1
    context_tokens = lengths.pop()
    assert chats_that_fit(large.num_kv_blocks, context_tokens, large.block_size)[0] == NUM_CHATS
    chats, left = chats_that_fit(small.num_kv_blocks, context_tokens, small.block_size)
    assert chats == NUM_CHATS - 1
    assert left > 0
    prompt_blocks = -(-(context_tokens - OUTPUT_TOKENS) // small.block_size)
    assert NUM_CHATS * prompt_blocks <= small.num_kv_blocks


def test_the_last_chat_is_the_subject(context):
    """The scheduler preempts who came last; that is the request that pictures show."""
    calls = plan(context).arms[0].make_run(1).calls
    assert [call.id for call in calls if call.role == "subject"] == [VICTIM]
    assert [call.at_ms for call in calls] == [EVERY_MS * index for index in range(NUM_CHATS)]
    assert len({call.prompt for call in calls}) == NUM_CHATS


def test_the_prediction_is_sealed_and_says_that_the_victim_is_late(context):
    """It can be made again, and the small pool costs the last chat time."""
    first, second = plan(context), plan(context)
    assert is_sealed(first.prediction)
    assert is_reproducible(first, second)
    assert first.prediction.by_arm_ns["B"] > first.prediction.by_arm_ns["A"]
    assert first.prediction.value_ns == first.prediction.by_arm_ns["B"]


def test_it_stays_small(context):
    """Within its budget, and with an arm for every claim."""
    made = plan(context)
    assert made.budget_s <= (9 if context.quick else 90)
    assert claims_name_arms(made, CLAIMS["e12"])

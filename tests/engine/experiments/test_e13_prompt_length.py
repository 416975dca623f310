"""E13 as planned: one prompt of each length, and eight that together are as long as the longest."""

from __future__ import annotations

import pytest

from demo_engine.experiments.e13_prompt_length import LENGTHS, NUM_PARTS, QUICK_LENGTHS, plan
from planning import claims_name_arms, differing_settings, is_reproducible, is_sealed, make_context
from traces.outcomes.sweeps import CLAIMS


@pytest.fixture(params=[False, True], ids=["full", "quick"])
def context(request):
    """A context for each size of the experiment."""
    return make_context(quick=request.param)


def lengths_of(context, arm, seed=1):
    """Return the lengths of an arm's prompts."""
    return [context.num_tokens(call.prompt) for call in arm.make_run(seed).calls]


def test_every_prompt_is_exactly_as_long_as_its_arm_says(context):
    """One prompt an arm, from one token to the longest; the parts are eight that add up to it."""
    *single, parts = plan(context).arms
    wanted = QUICK_LENGTHS if context.quick else LENGTHS
    assert [lengths_of(context, arm) for arm in single] == [[length] for length in wanted]
    assert [arm.id for arm in single] == [f"n{length}" for length in wanted]
    assert lengths_of(context, parts) == [wanted[-1] // NUM_PARTS] * NUM_PARTS


def test_all_arms_share_one_engine_that_computes_the_longest_prompt_in_one_step(context):
    """Nothing but the prompts differs, and no prompt is cut."""
    made = plan(context)
    assert differing_settings(*made.arms) == set()
    engine = made.arms[0].engine
    assert engine.max_num_batched_tokens >= LENGTHS[-1]
    assert engine.long_prefill_token_threshold == 0
    assert engine.max_num_seqs >= NUM_PARTS
    assert not engine.enable_prefix_caching


def test_the_same_seed_gives_the_same_prompts_and_another_seed_others(context):
    """From the length on at which two draws cannot agree by chance."""
    for arm in plan(context).arms:
        assert arm.make_run(3) == arm.make_run(3)
        if lengths_of(context, arm)[0] >= 8:
            assert arm.make_run(3) != arm.make_run(4)


def test_only_the_prompt_is_computed(context):
    """Each request ends with its first token."""
    calls = [call for arm in plan(context).arms for call in arm.make_run(1).calls]
    assert {(call.max_tokens, call.role, call.chat) for call in calls} == {(1, "subject", False)}


def test_the_prediction_is_sealed_and_has_a_floor_and_a_slope(context):
    """Short prompts are predicted to take the same, long ones their length, and the parts less than the whole."""
    first, second = plan(context), plan(context)
    assert is_sealed(first.prediction)
    assert is_reproducible(first, second)
    by_arm_ns = first.prediction.by_arm_ns
    assert by_arm_ns["n8"] < 1.01 * by_arm_ns["n1"]
    assert by_arm_ns["n512"] > 1.9 * by_arm_ns["n256"]
    assert by_arm_ns["parts"] < first.prediction.value_ns


def test_it_stays_small(context):
    """Within its budget, and the full plan has an arm for every claim."""
    made = plan(context)
    assert made.budget_s <= (9 if context.quick else 110)
    if not context.quick:
        assert claims_name_arms(made, CLAIMS["e13"])

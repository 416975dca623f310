"""E11 as planned: two prompts that begin alike, with prefix caching off and on."""

from __future__ import annotations

import pytest

from demo_engine.experiments.e11_prefix_hit import plan
from planning import claims_name_arms, differing_settings, is_reproducible, is_sealed, make_context
from traces.outcomes.caching import CLAIMS


@pytest.fixture(params=[False, True], ids=["full", "quick"])
def context(request):
    """A context for each size of the experiment."""
    return make_context(quick=request.param)


def pairs(context):
    """Return (length, miss, hit) for each length."""
    arms = {arm.id: arm for arm in plan(context).arms}
    lengths = [arm.settings["prompt_tokens"] for arm in arms.values() if arm.id.startswith("miss")]
    return [(length, arms[f"miss{length}"], arms[f"hit{length}"]) for length in lengths]


def test_miss_and_hit_differ_in_prefix_caching_alone(context):
    """Same load in both; the engine is one setting apart."""
    found = pairs(context)
    assert [length for length, _, _ in found] == ([128, 512] if context.quick else [128, 512, 2048])
    for _, miss, hit in found:
        assert differing_settings(miss, hit) == {"enable_prefix_caching"}
        assert (miss.engine.enable_prefix_caching, hit.engine.enable_prefix_caching) == (False, True)
        assert miss.make_run(4) == hit.make_run(4)


def test_prompts_are_exactly_as_long_as_they_say_and_share_all_but_a_block(context):
    """The last block is new, everything before it is the same in both requests of a run."""
    for length, arm, _ in pairs(context):
        fill, subject = (context.tokenizer.encode(call.prompt) for call in arm.make_run(2).calls)
        shared = length - context.base.block_size
        assert len(fill) == len(subject) == length
        assert fill[:shared] == subject[:shared]
        assert fill[shared:] != subject[shared:]


def test_runs_find_nothing_that_another_run_left(context):
    """Beginnings differ between seeds and between lengths."""
    beginnings = [
        tuple(context.tokenizer.encode(arm.make_run(seed).calls[0].prompt)[: context.base.block_size])
        for _, arm, _ in pairs(context)
        for seed in range(1, 6)
    ]
    assert len(set(beginnings)) == len(beginnings)


def test_the_subject_comes_when_the_filling_request_is_over(context):
    """It waits for the last token of the one before, so that it never shares a step with it."""
    for _, arm, _ in pairs(context):
        fill, subject = arm.make_run(1).calls
        assert (fill.role, subject.role) == ("neighbour", "subject")
        assert (subject.after.call, subject.after.tokens) == (fill.id, fill.max_tokens)
        assert fill.max_tokens >= 2


def test_the_prediction_is_sealed_and_says_that_the_saving_grows(context):
    """For each length a hit is predicted to be faster, and by more the longer the prompt."""
    first, second = plan(context), plan(context)
    assert is_sealed(first.prediction)
    assert is_reproducible(first, second)
    by_arm_ns = first.prediction.by_arm_ns
    savings = [by_arm_ns[miss.id] - by_arm_ns[hit.id] for _, miss, hit in pairs(context)]
    assert savings == sorted(savings)
    assert savings[0] > 0


def test_it_stays_small(context):
    """Within its budget, a prompt fits into one step, and the full plan has an arm for every claim."""
    made = plan(context)
    assert made.budget_s <= (9 if context.quick else 110)
    assert max(length for length, _, _ in pairs(context)) <= context.base.max_num_batched_tokens
    if not context.quick:
        assert claims_name_arms(made, CLAIMS["e11"])

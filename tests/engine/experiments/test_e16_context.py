"""E16 as planned: a few tokens after contexts that lie ready in the prefix cache."""

from __future__ import annotations

import itertools

import pytest

from demo_engine.experiments.e16_context import LENGTHS, OUTPUT_TOKENS, QUICK_LENGTHS, plan
from planning import claims_name_arms, differing_settings, is_reproducible, is_sealed, make_context
from traces.outcomes.sweeps import CLAIMS


@pytest.fixture(params=[False, True], ids=["full", "quick"])
def context(request):
    """A context for each size of the experiment."""
    return make_context(quick=request.param)


def prompts(context, seed):
    """Return the token ids of each arm's only prompt."""
    return [context.tokenizer.encode(arm.make_run(seed).calls[0].prompt) for arm in plan(context).arms]


def test_contexts_are_exactly_as_long_as_they_say(context):
    """One request an arm, whose prompt has the length of its arm, and which decodes a few tokens."""
    wanted = QUICK_LENGTHS if context.quick else LENGTHS
    assert [len(ids) for ids in prompts(context, 1)] == list(wanted)
    assert {len(arm.make_run(1).calls) for arm in plan(context).arms} == {1}
    assert {arm.make_run(1).calls[0].max_tokens for arm in plan(context).arms} == {OUTPUT_TOKENS}


def test_all_but_the_last_block_is_the_same_in_every_run_and_a_part_of_longer_contexts(context):
    """So a long context is computed once, by the run that does not count."""
    size = context.base.block_size
    first, second = prompts(context, 1), prompts(context, 2)
    for one, other in zip(first, second, strict=True):
        assert one[:-size] == other[:-size]
        assert one[-size:] != other[-size:]
    for shorter, longer in itertools.pairwise(first):
        assert longer[: len(shorter) - size] == shorter[:-size]
    assert plan(context).num_warmups == 1


def test_all_arms_share_one_engine_that_keeps_prefixes_and_has_room_for_them(context):
    """Nothing but the context differs, and the pool holds all of it beside what the runs leave."""
    made = plan(context)
    assert differing_settings(*made.arms) == set()
    engine = made.arms[0].engine
    assert engine.enable_prefix_caching
    assert engine.num_kv_blocks * engine.block_size > 2 * LENGTHS[-1]
    assert engine.max_model_len >= LENGTHS[-1] + OUTPUT_TOKENS


def test_the_same_seed_gives_the_same_run(context):
    """And another seed another last block."""
    for arm in plan(context).arms:
        assert arm.make_run(5) == arm.make_run(5) != arm.make_run(6)


def test_the_prediction_is_sealed_and_grows_by_the_bytes_of_the_context(context):
    """Between two contexts lies what their keys and values take to read."""
    first, second = plan(context), plan(context)
    assert is_sealed(first.prediction)
    assert is_reproducible(first, second)
    by_arm_ns = first.prediction.by_arm_ns
    inputs = first.prediction.inputs
    slope_ns = (by_arm_ns["c1024"] - by_arm_ns["c256"]) / (1024 - 256)
    assert slope_ns == pytest.approx(inputs["kv_bytes_per_token"] / inputs["read_bytes_per_s"] * 1e9, rel=0.01)


def test_it_stays_small(context):
    """Within its budget, and the full plan has an arm for every claim."""
    made = plan(context)
    assert made.budget_s <= (9 if context.quick else 90)
    if not context.quick:
        assert claims_name_arms(made, CLAIMS["e16"])

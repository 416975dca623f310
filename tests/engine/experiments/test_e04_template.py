"""E4 as planned: the same words in another order, on one engine."""

from __future__ import annotations

import pytest

from demo_engine.experiments.e04_template import plan
from planning import claims_name_arms, differing_settings, is_reproducible, is_sealed, make_context
from traces.outcomes.caching import CLAIMS


@pytest.fixture(params=[False, True], ids=["full", "quick"])
def context(request):
    """A context for each size of the experiment."""
    return make_context(quick=request.param)


def test_the_arms_differ_only_in_where_the_timestamp_stands(context):
    """Same engine, same lines, same lengths; only their order is another."""
    first, last = plan(context).arms
    assert differing_settings(first, last) == set()
    assert first.engine.enable_prefix_caching
    for one, other in zip(first.make_run(3).calls, last.make_run(3).calls, strict=True):
        assert sorted(one.prompt.splitlines()) == sorted(other.prompt.splitlines())
        assert (one.prompt.startswith("Now: "), other.prompt.startswith("Guide ")) == (True, True)
        assert context.num_tokens(one.prompt) == context.num_tokens(other.prompt)
        assert (one.max_tokens, one.role, one.after) == (other.max_tokens, other.role, other.after)


def test_a_timestamp_in_front_leaves_no_block_to_reuse(context):
    """Prompts of one run begin alike up to the timestamp: less than a block, or nearly all of the template."""
    shared = {arm.id: num_alike(context, arm.make_run(1)) for arm in plan(context).arms}
    assert shared["A"] < context.base.block_size
    assert shared["B"] >= 300


def test_runs_find_nothing_that_another_run_left(context):
    """Between any two seeds, warm-up included, not even the first block is the same."""
    for arm in plan(context).arms:
        prompts = [arm.make_run(seed).calls[0].prompt for seed in (1, 2, 7, 60, 61, 1_000_000)]
        beginnings = [tuple(context.tokenizer.encode(prompt)[: context.base.block_size]) for prompt in prompts]
        assert len(set(beginnings)) == len(beginnings)


def test_the_same_seed_asks_the_same(context):
    """A run can be made again from its seed."""
    for arm in plan(context).arms:
        assert arm.make_run(5) == arm.make_run(5) != arm.make_run(6)


def test_questions_follow_one_another_and_keep_their_text(context):
    """Each waits for the one before; only what a picture shows is stored."""
    for arm in plan(context).arms:
        fill, *questions = arm.make_run(1).calls
        assert (fill.role, fill.keep_text) == ("neighbour", False)
        for before, call in zip([fill, *questions], questions, strict=False):
            assert (call.role, call.keep_text, call.after.call) == ("subject", True, before.id)
            assert call.after.tokens == before.max_tokens


def test_the_prediction_is_sealed_and_rests_on_sizes_and_speeds(context):
    """It can be made again, and says that the last place is the faster one."""
    first, second = plan(context), plan(context)
    assert is_sealed(first.prediction)
    assert is_reproducible(first, second)
    assert first.prediction.by_arm_ns["B"] < first.prediction.by_arm_ns["A"]
    assert first.prediction.inputs["shared_tokens_A"] == 0


def test_it_stays_small(context):
    """Within its budget, and with an arm for every claim."""
    made = plan(context)
    assert made.budget_s <= (9 if context.quick else 90)
    assert claims_name_arms(made, CLAIMS["e04"])


def num_alike(context, run):
    """Return how many tokens the first two prompts of a run begin with alike."""
    first, second = (context.tokenizer.encode(call.prompt) for call in run.calls[:2])
    return next(index for index, (a, b) in enumerate(zip(first, second, strict=False)) if a != b)

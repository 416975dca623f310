"""E10 as planned: one answer, with and without what was computed before."""

from __future__ import annotations

import pytest

from demo_engine.experiments.e10_kv_cache import PROMPT_TOKENS, plan
from planning import claims_name_arms, differing_settings, is_reproducible, is_sealed, make_context
from traces.outcomes.caching import CLAIMS


@pytest.fixture(params=[False, True], ids=["full", "quick"])
def context(request):
    """A context for each size of the experiment."""
    return make_context(quick=request.param)


def test_the_arms_differ_in_the_kv_cache_alone(context):
    """Same prompt, same length of answer; one engine keeps keys and values, the other does not."""
    without, with_cache = plan(context).arms
    assert differing_settings(without, with_cache) == {"use_kv_cache"}
    assert (without.engine.use_kv_cache, with_cache.engine.use_kv_cache) == (False, True)
    assert without.make_run(2) == with_cache.make_run(2) != without.make_run(3)


def test_the_text_grows_by_the_answer(context):
    """The prompt is short beside the answer, so that the last token has much more before it than the second."""
    (call,) = plan(context).arms[0].make_run(1).calls
    assert context.num_tokens(call.prompt) == PROMPT_TOKENS
    assert call.max_tokens >= 3 * PROMPT_TOKENS
    assert call.role == "subject"


def test_the_prediction_is_sealed_and_says_that_the_last_token_is_dear_without(context):
    """It can be made again from speeds and sizes."""
    first, second = plan(context), plan(context)
    assert is_sealed(first.prediction)
    assert is_reproducible(first, second)
    assert first.prediction.by_arm_ns["A"] > first.prediction.by_arm_ns["B"]


def test_it_stays_small(context):
    """Within its budget, and with an arm for every claim."""
    made = plan(context)
    assert made.budget_s <= (9 if context.quick else 90)
    assert claims_name_arms(made, CLAIMS["e10"])

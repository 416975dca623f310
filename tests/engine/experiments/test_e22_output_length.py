"""E22 as planned: a short answer and a long one."""

from __future__ import annotations

import pytest

from demo_engine.experiments.e22_output_length import PROMPT_TOKENS, plan
from planning import claims_name_arms, differing_settings, is_reproducible, is_sealed, make_context
from traces.outcomes.startup import CLAIMS


@pytest.fixture(params=[False, True], ids=["full", "quick"])
def context(request):
    """A context for each size of the experiment."""
    return make_context(quick=request.param)


def test_the_arms_differ_in_the_length_of_the_answer_alone(context):
    """Same engine and same prompt; the long answer is four times as long."""
    short, long = plan(context).arms
    assert differing_settings(short, long) == set()
    (first,), (second,) = short.make_run(2).calls, long.make_run(2).calls
    assert first.prompt == second.prompt
    assert context.num_tokens(first.prompt) == PROMPT_TOKENS
    assert second.max_tokens == 4 * first.max_tokens
    assert (first.role, second.role) == ("subject", "subject")


def test_another_seed_asks_something_else(context):
    """And the same seed the same."""
    for arm in plan(context).arms:
        assert arm.make_run(2) == arm.make_run(2) != arm.make_run(3)


def test_the_prediction_is_sealed_and_grows_with_the_answer(context):
    """Not quite four times as long, because both begin with one prompt."""
    first, second = plan(context), plan(context)
    assert is_sealed(first.prediction)
    assert is_reproducible(first, second)
    by_arm_ns = first.prediction.by_arm_ns
    assert 2 * by_arm_ns["A"] < by_arm_ns["B"] < 4 * by_arm_ns["A"]


def test_it_stays_small(context):
    """Within its budget, and with an arm for every claim."""
    made = plan(context)
    assert made.budget_s <= (9 if context.quick else 90)
    assert claims_name_arms(made, CLAIMS["e22"])

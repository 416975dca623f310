"""E23 as planned: the talk's request, beside a neighbour and alone."""

from __future__ import annotations

import pytest

from demo_engine.experiments.e23_one_request import NEIGHBOUR_ID, OUTPUT_TOKENS, SUBJECT_ID, plan
from demo_engine.experiments.prompt import NEIGHBOUR, SUBJECT
from planning import claims_name_arms, differing_settings, is_reproducible, is_sealed, make_context
from traces.outcomes.startup import CLAIMS


@pytest.fixture(params=[False, True], ids=["full", "quick"])
def context(request):
    """A context for each size of the experiment."""
    return make_context(quick=request.param)


def test_the_arms_differ_in_the_neighbour_alone(context):
    """Same engine, same request; once somebody decodes already."""
    beside, idle = plan(context).arms
    assert (beside.id, idle.id) == ("A", "A-idle")
    assert differing_settings(beside, idle) == set()
    subject, neighbour = beside.make_run(1).calls
    (alone,) = idle.make_run(1).calls
    assert (subject.id, subject.prompt, subject.max_tokens) == (alone.id, alone.prompt, alone.max_tokens)
    assert (subject.id, neighbour.id) == (SUBJECT_ID, NEIGHBOUR_ID)
    assert (subject.role, neighbour.role) == ("subject", "neighbour")


def test_every_run_sends_the_same_words_and_keeps_them(context):
    """The talk shows one request, so its text is the same whatever the seed, and stands in the trace."""
    for arm in plan(context).arms:
        assert arm.make_run(1) == arm.make_run(2)
        for call in arm.make_run(1).calls:
            assert call.prompt == (SUBJECT if call.role == "subject" else NEIGHBOUR)
            assert call.chat
            assert call.keep_text


def test_the_subject_arrives_inside_a_step_of_a_neighbour_who_stays_longer(context):
    """It waits out a running step, and is never alone afterwards."""
    subject, neighbour = plan(context).arms[0].make_run(1).calls
    assert subject.after.call == neighbour.id
    assert subject.after.tokens >= 2
    assert 0 < subject.after.step_share < 1
    assert neighbour.max_tokens > subject.after.tokens + OUTPUT_TOKENS


def test_the_prediction_is_sealed_and_counts_the_neighbour(context):
    """Beside a neighbour it is predicted to take longer, by less than a second request would."""
    first, second = plan(context), plan(context)
    assert is_sealed(first.prediction)
    assert is_reproducible(first, second)
    by_arm_ns = first.prediction.by_arm_ns
    assert by_arm_ns["A-idle"] < by_arm_ns["A"] < 2 * by_arm_ns["A-idle"]
    assert first.prediction.value_ns == by_arm_ns["A"]


def test_it_stays_small(context):
    """Seven requests an arm, three when quick, and an arm for every claim."""
    made = plan(context)
    assert made.num_rounds == (3 if context.quick else 7)
    assert made.budget_s <= (18 if context.quick else 60)
    assert claims_name_arms(made, CLAIMS["e23"])

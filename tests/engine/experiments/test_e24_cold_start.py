"""E24 as planned: a server that has yet to start, and one that runs."""

from __future__ import annotations

import pytest

from demo_engine.experiments.e24_cold_start import plan
from planning import claims_name_arms, differing_settings, is_reproducible, is_sealed, make_context
from traces.outcomes.startup import CLAIMS


@pytest.fixture(params=[False, True], ids=["full", "quick"])
def context(request):
    """A context for each size of the experiment."""
    return make_context(quick=request.param)


def test_the_arms_differ_in_the_process_alone(context):
    """Same settings, same request; one of the two has to start first."""
    new, warm = plan(context).arms
    assert differing_settings(new, warm) == set()
    assert (new.new_process, warm.new_process) == (True, False)
    assert new.make_run(2) == warm.make_run(2) != new.make_run(3)


def test_a_run_is_one_short_answer(context):
    """One request, because only the first waits for the start."""
    (call,) = plan(context).arms[0].make_run(1).calls
    assert call.role == "subject"
    assert call.max_tokens <= 8


def test_the_prediction_is_sealed_and_knows_only_the_weights(context):
    """It adds the time to read them, from calibrated speeds; what a process needs to start it cannot know."""
    first, second = plan(context), plan(context)
    assert is_sealed(first.prediction)
    assert is_reproducible(first, second)
    by_arm_ns, inputs = first.prediction.by_arm_ns, first.prediction.inputs
    load_ns = inputs["weight_bytes"] / inputs["read_bytes_per_s"] * 1e9
    assert by_arm_ns["A"] - by_arm_ns["B"] == pytest.approx(load_ns, rel=1e-6)


def test_it_stays_small(context):
    """Within its budget, and with an arm for every claim."""
    made = plan(context)
    assert made.budget_s <= (9 if context.quick else 90)
    assert claims_name_arms(made, CLAIMS["e24"])

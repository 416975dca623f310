"""E9 as planned: arrivals that do not wait for replies, the same at every rate but for their scale."""

from __future__ import annotations

import pytest

from demo_engine.experiments.e09_load import (
    NUM_QUICK_REQUESTS,
    NUM_REQUESTS,
    NUM_WARMUP_REQUESTS,
    SEATS_IN_LINE,
    plan,
)
from demo_engine.experiments.harness import WARMUP_SEED
from planning import claims_name_arms, differing_settings, is_reproducible, is_sealed, make_context
from traces.metrics import SAMPLES_NEEDED
from traces.outcomes.scheduling import CLAIMS


@pytest.fixture(params=[False, True], ids=["full", "quick"])
def context(request):
    """A context for each size of the experiment."""
    return make_context(quick=request.param)


def test_the_arms_share_an_engine_and_differ_in_rate_or_in_the_line(context):
    """The last one is the busiest rate again, with few seats in line."""
    *rates, limited = plan(context).arms
    assert differing_settings(*rates, limited) == set()
    offered = [arm.settings["offered_per_s"] for arm in rates]
    assert offered == sorted(offered)
    assert limited.settings["offered_per_s"] == offered[-1]
    assert limited.max_num_queued == SEATS_IN_LINE < rates[0].max_num_queued


def test_arrivals_are_the_same_ones_at_every_rate(context):
    """Starts of the slower arm are those of the faster one, stretched; prompts are equal, and none comes twice."""
    slow, fast = (plan(context).arms[index].make_run(1).calls for index in (0, -2))
    stretch = plan(context).arms[-2].settings["offered_per_s"] / plan(context).arms[0].settings["offered_per_s"]
    assert [call.prompt for call in slow] == [call.prompt for call in fast]
    assert [call.at_ms for call in slow] == pytest.approx([call.at_ms * stretch for call in fast], rel=1e-3)
    assert len({call.prompt for call in slow}) == len(slow) == (NUM_QUICK_REQUESTS if context.quick else NUM_REQUESTS)
    assert all(call.after is None for call in slow)


def test_the_offered_rate_is_that_of_the_arrivals():
    """Over many seeds, the mean distance of two arrivals is 1 / rate."""
    arm = plan(make_context()).arms[1]
    spans = [arm.make_run(seed).calls[-1].at_ms / (NUM_REQUESTS - 1) for seed in range(1, 40)]
    assert sum(spans) / len(spans) == pytest.approx(1e3 / arm.settings["offered_per_s"], rel=0.1)


def test_there_are_enough_requests_for_the_percentile_that_is_printed():
    """p90 needs 44."""
    assert SAMPLES_NEEDED[90] <= NUM_REQUESTS


def test_a_warm_up_is_a_few_requests(context):
    """The engine has seen the shapes; more would only make the file larger."""
    assert len(plan(context).arms[0].make_run(WARMUP_SEED).calls) == NUM_WARMUP_REQUESTS


def test_the_prediction_is_sealed_and_grows_with_the_load(context):
    """It can be made again, and has no value for the arm with a limit."""
    first, second = plan(context), plan(context)
    assert is_sealed(first.prediction)
    assert is_reproducible(first, second)
    values = list(first.prediction.by_arm_ns.values())
    assert values == sorted(values)
    assert set(first.prediction.by_arm_ns) == {arm.id for arm in first.arms[:-1]}


def test_it_stays_small(context):
    """Within its budget, and with an arm for every claim."""
    made = plan(context)
    assert made.budget_s <= (9 if context.quick else 100)
    assert claims_name_arms(made, CLAIMS["e09"])

"""What a load will take: the real scheduler's steps, each with its predicted time."""

from __future__ import annotations

import pytest

from demo_engine.experiments.foresight import Arrival, foresee_ends_ns
from planning import make_context


@pytest.fixture(scope="module")
def context():
    """The packaged model on a machine of round speeds."""
    return make_context()


def test_one_request_is_its_prefill_and_its_decode_steps(context):
    """Alone it takes a step of its prompt, then one for each further token."""
    ends_ns = foresee_ends_ns(context, context.base, [Arrival("a", 100, 3, 0.0)])
    steps_ns = context.step_ns([(0, 100)]) + context.step_ns(decodes=[100]) + context.step_ns(decodes=[101])
    assert ends_ns == {"a": pytest.approx(steps_ns)}


def test_who_comes_later_waits_for_the_step_that_runs(context):
    """A request that arrives inside a step joins the next one, together with the token of the one that is there."""
    ends_ns = foresee_ends_ns(context, context.base, [Arrival("a", 100, 2, 0.0), Arrival("b", 50, 1, 1.0)])
    both_ns = context.step_ns([(0, 50)], decodes=[100])
    assert ends_ns["a"] == ends_ns["b"] == pytest.approx(context.step_ns([(0, 100)]) + both_ns)


def test_an_idle_engine_waits_for_the_next_arrival(context):
    """Time passes until somebody comes; ends count from the first arrival."""
    arrivals = [Arrival("a", 10, 1, 5.0), Arrival("b", 10, 1, 60_005.0)]
    ends_ns = foresee_ends_ns(context, context.base, arrivals)
    assert ends_ns["b"] - ends_ns["a"] == pytest.approx(60e9)


def test_a_pool_that_is_too_small_makes_the_last_one_late(context):
    """The preempted request is computed twice, and ends later than with blocks for all."""
    arrivals = [Arrival(name, 30, 20, 0.0) for name in "ab"]
    roomy, tight = (foresee_ends_ns(context, context.engine(num_kv_blocks=n), arrivals) for n in (8, 6))
    assert tight["a"] <= roomy["a"]
    assert tight["b"] > roomy["b"]

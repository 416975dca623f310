"""E8 as planned: six who decode, one long prompt, and a chunk that the calibration decides."""

from __future__ import annotations

import msgspec
import pytest

from demo_engine.experiments.e08_chunked_prefill import (
    NEIGHBOUR_PROMPT_TOKENS,
    NUM_NEIGHBOURS,
    STEPS_A_CHUNK,
    TOKENS_AFTER,
    TOKENS_BEFORE,
    chunk_tokens,
    plan,
)
from planning import ROUND_SPEEDS, claims_name_arms, differing_settings, is_reproducible, is_sealed, make_context
from traces.outcomes.scheduling import CLAIMS


@pytest.fixture(params=[False, True], ids=["full", "quick"])
def context(request):
    """A context for each size of the experiment."""
    return make_context(quick=request.param)


def test_the_arms_differ_in_the_chunk_alone(context):
    """Same neighbours, same long prompt."""
    whole, chunked = plan(context).arms
    assert differing_settings(whole, chunked) == {"long_prefill_token_threshold"}
    assert whole.make_run(2) == chunked.make_run(2) != chunked.make_run(3)


def test_the_long_prompt_arrives_while_all_others_decode_and_they_outlast_it(context):
    """It starts inside a step of the last neighbour; each has a token for every chunk."""
    run = plan(context).arms[1].make_run(1)
    *neighbours, long = run.calls
    assert len(neighbours) == NUM_NEIGHBOURS
    assert {call.role for call in neighbours} == {"neighbour"}
    assert (long.role, long.after.call, long.after.tokens) == ("subject", neighbours[-1].id, TOKENS_BEFORE)
    num_chunks = -(-context.num_tokens(long.prompt) // chunk_tokens(context))
    assert all(call.max_tokens >= TOKENS_BEFORE + num_chunks + TOKENS_AFTER for call in neighbours)
    assert context.num_tokens(long.prompt) > 4 * chunk_tokens(context)


@pytest.mark.parametrize("factor", [0.25, 1, 4])
def test_the_chunk_follows_the_machine(factor):
    """Whole blocks, as many as a few decode steps last; the faster the arithmetic, the larger the chunk."""
    speeds = msgspec.structs.replace(ROUND_SPEEDS, gemm_flops_per_s=ROUND_SPEEDS.gemm_flops_per_s * factor)
    context = make_context(calibration=speeds)
    chunk = chunk_tokens(context)
    decodes = [NEIGHBOUR_PROMPT_TOKENS] * NUM_NEIGHBOURS
    assert chunk % context.base.block_size == 0
    if chunk > context.base.block_size:
        assert context.step_ns([(0, chunk)], decodes) <= STEPS_A_CHUNK * context.step_ns(decodes=decodes)
    assert chunk >= chunk_tokens(make_context(calibration=msgspec.structs.replace(speeds, gemm_flops_per_s=1e9)))


def test_the_prediction_is_sealed_and_expects_a_shorter_gap(context):
    """It can be made again."""
    first, second = plan(context), plan(context)
    assert is_sealed(first.prediction)
    assert is_reproducible(first, second)
    assert first.prediction.by_arm_ns["B"] < first.prediction.by_arm_ns["A"]


def test_it_stays_small(context):
    """Within its budget, and with an arm for every claim."""
    made = plan(context)
    assert made.budget_s <= (9 if context.quick else 90)
    assert claims_name_arms(made, CLAIMS["e08"])

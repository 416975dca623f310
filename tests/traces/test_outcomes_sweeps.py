"""What the sweeps answer, on hand-made traces: no number here is a measurement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from trace_factory import MS, SPAN_TYPES, make_run
from traces import SCHEMA_VERSION, TraceError
from traces.outcomes import Claim, outcomes
from traces.outcomes.sweeps import (
    CLAIMS,
    DECODE_RATE,
    DECODE_STEP,
    PEAK_SHARE,
    PREFILL,
    PREFILL_TOKEN,
    best_exchange,
    bytes_per_s,
    fit_prefill,
    flat_until,
    floor_ns,
    flops_per_s,
    full_decode_step_ns,
    intensity,
    points,
    predicted_context_slope_ns,
    predicted_knee,
    slope_and_base,
)
from traces.schema import Arm, Exemplar, Experiment, Prediction, Run, Steps

INPUTS = {
    "weight_bytes": 500_000_000, "read_bytes_per_s": 10_000_000_000, "gemm_flops_per_s": 50_000_000_000,
    "flops_per_token": 250_000_000, "kv_bytes_per_token": 46_000,
}  # fmt: skip
JITTER = (0, 2, -1, 1, -2)
"""Five runs that differ a little, in thousandths."""


def one_step(prefill_tokens: int, forward_ns: int, *, flops: int = 1_000_000_000) -> Run:
    """Return a run of one token whose only step computes so many tokens of prompt."""
    run = make_run(tokens=1)
    steps = Steps(
        start_ns=[60 * MS], plan_ns=[0], forward_ns=[forward_ns], sample_ns=[0], emit_ns=[0],
        prefill_tokens=[prefill_tokens], cached_tokens=[0], decode_tokens=[0], running=[1], waiting=[0],
        kv_blocks_used=[1], request_ids=[["r7"]], preempted_ids=[[]], weight_bytes=[400_000_000],
        kv_bytes=[100_000_000], flops=[flops], kv_blocks_total=64,
    )  # fmt: skip
    tokens = msgspec.structs.replace(run.requests[0].tokens, step=[0])
    request = msgspec.structs.replace(run.requests[0], tokens=tokens, num_prompt_tokens=prefill_tokens)
    return msgspec.structs.replace(run, requests=[request], steps=steps)


def batch(num_requests: int, step_ms: float) -> Run:
    """Return a run in which a first step prefills, four get everybody a token, and a last one is not full."""
    subject = make_run(tokens=4).requests[0]
    requests = [msgspec.structs.replace(subject, id=f"r{i}") for i in range(num_requests)]
    ids = [request.id for request in requests]
    num_steps = 6
    forward_ns = [900 * MS, *[round(step_ms * MS)] * 4, 5 * MS]
    decodes = [0, *[num_requests] * 4, num_requests - 1]
    columns: dict[str, Any] = {
        name: [0] * num_steps for name in Steps.__struct_fields__ if name not in ("kv_blocks_total", "mask_ns")
    }
    columns |= {
        "start_ns": [i * 1000 * MS for i in range(num_steps)], "forward_ns": forward_ns, "decode_tokens": decodes,
        "prefill_tokens": [num_requests * 16, 0, 0, 0, 0, 0], "weight_bytes": [400_000_000] * num_steps,
        "kv_bytes": [100_000_000] * num_steps, "request_ids": [ids] * 5 + [ids[1:]], "preempted_ids": [[]] * num_steps,
    }  # fmt: skip
    return msgspec.structs.replace(make_run(tokens=4), requests=requests, steps=Steps(**columns))


def make_sweep(experiment_id: str, setting: str, arms: dict[str, tuple[dict[str, int], Sequence[Run]]]) -> Experiment:
    """Return an experiment from each arm's settings and runs."""
    prediction = Prediction("by hand", dict(INPUTS), 1, 1, "0" * 64)
    made = [
        Arm(name, name, dict(settings), list(runs), Exemplar(0, runs[0].requests[0].id, "by hand"))
        for name, (settings, runs) in arms.items()
    ]
    return Experiment(SCHEMA_VERSION, experiment_id, setting, "?", prediction, SPAN_TYPES, made)


def lengths(times_ms: dict[int, float]) -> Experiment:
    """Return a sweep over prompt lengths, five runs of each."""
    return make_sweep(
        "e13",
        "prompt_tokens",
        {
            f"n{n}": ({"prompt_tokens": n}, [one_step(n, round(ms * MS * (1 + j / 1000))) for j in JITTER])
            for n, ms in times_ms.items()
        },
    )


def sizes(steps_ms: dict[int, float]) -> Experiment:
    """Return a sweep over batch sizes, five runs of each."""
    return make_sweep(
        "e14",
        "batch",
        {
            f"b{size}": ({"batch": size}, [batch(size, ms * (1 + j / 1000)) for j in JITTER])
            for size, ms in steps_ms.items()
        },
    )


def verdicts(experiment: Experiment, claims: Sequence[Claim]) -> list[str]:
    """Return the answer to each claim whose arms are there."""
    return [outcome.verdict for outcome in outcomes(experiment, claims)]


def of(*metrics: Any) -> list[Claim]:
    """Return the claims on these metrics."""
    return [claim for claims in CLAIMS.values() for claim in claims if claim.metric in metrics]


def test_a_longer_prompt_costs_more_and_each_of_its_tokens_less() -> None:
    """Until attention counts: then each token is dearer again."""
    swept = lengths({1: 50, 8: 60, 64: 200, 256: 800, 2048: 9000})
    assert set(verdicts(swept, of(PREFILL_TOKEN))) == {"as expected"}
    (growth, *_) = outcomes(swept, of(PREFILL))
    assert growth.verdict == "as expected"
    assert (growth.first, growth.second) == (200 * MS, 800 * MS)


def test_prompts_that_answer_the_reverse_are_opposite_and_equal_ones_are_noise() -> None:
    """The claims can fail."""
    assert verdicts(lengths({64: 800, 256: 200}), of(PREFILL)) == ["opposite"]
    assert verdicts(lengths({64: 300, 256: 300}), of(PREFILL)) == ["within the noise"]


def test_the_share_of_the_peak_is_work_over_time_over_the_calibrated_speed() -> None:
    """Ten billion operations in half a second are 20 GFLOP/s of 50."""
    run = one_step(64, 500 * MS, flops=10_000_000_000)
    swept = lengths({64: 500})
    assert flops_per_s(run) == pytest.approx(20e9)
    assert PEAK_SHARE.of_run(swept, run) == [pytest.approx(0.4)]
    assert intensity(run) == pytest.approx(20)


def test_a_prompt_spread_over_steps_is_their_sum_and_a_failed_one_counts_nowhere() -> None:
    """The metric is of all forward passes with prompt tokens."""
    run = batch(2, 50)
    swept = sizes({2: 50})
    assert PREFILL.of_run(swept, run) == [900 * MS]
    failed = msgspec.structs.replace(run.requests[0], finish_reason="error")
    assert PREFILL.of_run(swept, msgspec.structs.replace(run, requests=[failed, run.requests[1]])) == []


def test_only_steps_in_which_everybody_gets_a_token_count() -> None:
    """Not the prefill, and not the step from which somebody is missing."""
    run = batch(8, 80)
    assert full_decode_step_ns(run) == [80 * MS] * 4
    assert DECODE_STEP.of_run(sizes({8: 80}), run) == [80 * MS]
    assert DECODE_RATE.of_run(sizes({8: 80}), run) == [pytest.approx(100)]
    assert bytes_per_s(run) == pytest.approx(500_000_000 / 0.080)


def test_a_run_without_such_a_step_yields_no_value() -> None:
    """Then a claim on it cannot be answered, which is an error and no zero."""
    run = batch(2, 50)
    steps = msgspec.structs.replace(run.steps, prefill_tokens=[1] * 6)
    assert DECODE_STEP.of_run(sizes({2: 50}), msgspec.structs.replace(run, steps=steps)) == []


def test_company_brings_more_for_all_and_takes_longer_for_each() -> None:
    """Each claim holds on a machine that batches well, and is opposite on one that serves in turn and worse."""
    good = sizes({1: 50, 8: 60, 16: 90, 32: 170})
    assert set(verdicts(good, of(DECODE_RATE))) == {"as expected"}
    assert set(verdicts(good, CLAIMS["e14"])) == {"as expected"}
    bad = sizes({1: 50, 8: 500, 16: 1200, 32: 3000})
    assert set(verdicts(bad, of(DECODE_RATE))) == {"opposite"}


def test_points_are_medians_in_the_order_of_the_setting_without_the_parts() -> None:
    """The eight parts are no prompt of a length, and no point of the curve."""
    swept = lengths({256: 800, 64: 200})
    part = Arm(
        "parts", "8 × 64", {"part_tokens": 64, "parts": 8}, [one_step(512, 999 * MS)], Exemplar(0, "r7", "by hand")
    )
    swept = msgspec.structs.replace(swept, arms=[*swept.arms, part])
    assert points(swept, PREFILL, "prompt_tokens") == {64: 200 * MS, 256: 800 * MS}
    assert list(points(swept, PREFILL, "prompt_tokens")) == [64, 256]


def test_a_curve_is_flat_until_it_leaves_its_first_level() -> None:
    """Ten per cent above the first point is where it ends, even if a later point comes back."""
    assert flat_until({1: 50, 2: 52, 4: 54.9, 8: 70, 16: 51}) == 4
    assert flat_until({1: 50, 2: 80}) == 1
    with pytest.raises(TraceError, match="without a point"):
        flat_until({})


def test_the_fit_finds_floor_slope_and_the_share_of_attention() -> None:
    """A made curve: a floor of 40 ms, 3 ms a token from then on, and a third more at the end."""
    curve = {n: max(40.0, 3.0 * n) * MS for n in (1, 2, 4, 8, 16, 32, 64, 128, 256)} | {1024: 4096.0 * MS}
    fit = fit_prefill(curve)
    assert (fit.floor_ns, fit.flat_until) == (40 * MS, 8)
    assert fit.token_ns == pytest.approx(3 * MS)
    assert fit.attention_share == pytest.approx(1024 / 4096)


def test_a_curve_without_a_bend_has_no_attention_and_one_of_three_points_no_fit() -> None:
    """What lies below the straight line is no negative share."""
    assert fit_prefill({1: 3.0, 64: 192.0, 256: 768.0, 1024: 3000.0}).attention_share == 0
    with pytest.raises(TraceError, match="3 prompt lengths"):
        fit_prefill({1: 1, 2: 2, 4: 4})


def test_a_slope_is_that_of_the_line_through_the_points() -> None:
    """Ten a token above forty; a single point has none."""
    assert slope_and_base({256: 42.56, 1024: 50.24, 4096: 80.96}) == (pytest.approx(0.01), pytest.approx(40))
    with pytest.raises(TraceError, match="two points"):
        slope_and_base({256: 1})


def test_predictions_follow_from_the_calibrated_speeds() -> None:
    """500 MB at 10 GB/s are 50 ms; 250 MFLOP at 50 GFLOP/s are 5 ms a token, so that ten of them take as long."""
    swept = sizes({1: 50})
    assert floor_ns(swept) == pytest.approx(50 * MS)
    assert predicted_knee(swept) == pytest.approx(10)
    assert predicted_context_slope_ns(swept) == pytest.approx(4600)


def test_the_best_exchange_is_the_most_tokens_for_the_time_of_a_step() -> None:
    """From one to eight costs ten milliseconds for 113 tokens a second; the doublings after it bring less for more."""
    assert best_exchange({1: 50 * MS, 8: 60 * MS, 16: 100 * MS, 32: 190 * MS}) == 8
    with pytest.raises(TraceError, match="two batch sizes"):
        best_exchange({1: 50})

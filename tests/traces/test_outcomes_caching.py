"""What traces of the caching experiments answer, on hand-made ones: no number here is a measurement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from trace_factory import MS, SPAN_TYPES, make_run
from traces import SCHEMA_VERSION, TraceError
from traces.outcomes import Claim, Outcome, outcomes
from traces.outcomes.caching import (
    CACHED_TOKENS,
    CLAIMS,
    FILL_TTFT,
    KEPT_BYTES,
    LAST_TOKEN,
    POOL_BYTES,
    PREEMPTED,
    RECOMPUTED_TOKENS,
    TOKEN_GROWTH,
    chats_that_fit,
    last_over_second,
    preempted_ids,
    token_step_ns,
    token_work,
)
from traces.outcomes.of_requests import E2E, FAILED, MAKESPAN, TPOT, TTFT
from traces.schema import Arm, Exemplar, Experiment, Prediction, Request, Run

TOKEN_BYTES = 1000
BLOCK_BYTES = 16 * TOKEN_BYTES
FIRST_MS = (850, 852, 848, 851, 849)
"""Five runs that differ a little, as measured ones do."""


def with_request(run: Run, **fields: Any) -> Run:
    """Return the run with other fields in its only request."""
    return msgspec.structs.replace(run, requests=[msgspec.structs.replace(run.requests[0], **fields)])


def with_steps(run: Run, **columns: Any) -> Run:
    """Return the run with other columns in its steps; a single value fills its column."""
    num_steps = len(run.steps.start_ns)
    full = {name: value if isinstance(value, list) else [value] * num_steps for name, value in columns.items()}
    return msgspec.structs.replace(run, steps=msgspec.structs.replace(run.steps, **full))


def with_pool(run: Run, num_blocks: int) -> Run:
    """Return the run on a pool of another size."""
    return msgspec.structs.replace(run, steps=msgspec.structs.replace(run.steps, kv_blocks_total=num_blocks))


def beside(run: Run, *others: Request) -> Run:
    """Return the run with further requests."""
    return msgspec.structs.replace(run, requests=[*run.requests, *others])


def filler(first_ms: int = 900, **fields: Any) -> Request:
    """Return an answered neighbour."""
    request = make_run(tokens=2, prefill_ns=first_ms * MS, request_id="fill").requests[0]
    return msgspec.structs.replace(request, role="neighbour", **fields)


def growing(last_ms: float, *, tokens: int = 6, recomputes: bool = True) -> Run:
    """Return a run whose token 2 takes 40 ms in the model and whose last takes ``last_ms``."""
    run = make_run(tokens=tokens)
    forward_ns = [40 * MS, 900 * MS, *[40 * MS] * (tokens - 2), round(last_ms * MS)]
    work = [1, *(200 + made if recomputes or not made else 1 for made in range(tokens))]
    return with_steps(
        run, plan_ns=0, sample_ns=0, emit_ns=0, forward_ns=forward_ns, prefill_tokens=work, decode_tokens=0
    )  # fmt: skip


def make_experiment(experiment_id: str, arms: dict[str, Sequence[Run]], caching: Sequence[str] = ()) -> Experiment:
    """Return an experiment; arms named in ``caching`` reuse prefixes."""
    inputs = {"kv_bytes_per_token": TOKEN_BYTES}
    prediction = Prediction("by hand", inputs, 1, 1, "0" * 64)
    made = [
        Arm(
            name, name, {"engine": {"block_size": 16, "enable_prefix_caching": name in caching}},
            list(runs), Exemplar(0, "r7", "by hand"),
        )
        for name, runs in arms.items()
    ]  # fmt: skip
    return Experiment(SCHEMA_VERSION, experiment_id, "by-hand", "?", prediction, SPAN_TYPES, made)


def answers(experiment: Experiment, claims: Sequence[Claim]) -> dict[str, Outcome]:
    """Return the outcomes by the metric's name."""
    return {outcome.claim.metric.name: outcome for outcome in outcomes(experiment, claims)}


def template_runs(first_ms: int, cached_tokens: int) -> list[Run]:
    """Return five runs of a filler and a subject that found so many tokens."""
    runs = []
    for ms in FIRST_MS:
        subject = with_request(make_run(tokens=4, prefill_ns=(first_ms + ms) * MS), num_cached_tokens=cached_tokens)
        runs.append(beside(subject, filler(ms)))
    return runs


def test_a_prefix_that_is_found_is_a_gain_and_costs_the_first_request_nothing() -> None:
    """Cached tokens and TTFT answer as expected; filling and decoding stay the same."""
    experiment = make_experiment("e04", {"A": template_runs(0, 0), "B": template_runs(-700, 192)}, caching="AB")
    found = answers(experiment, CLAIMS["e04"])
    assert {name: outcome.verdict for name, outcome in found.items()} == dict.fromkeys(found, "as expected")
    assert (found["cached_tokens"].first, found["cached_tokens"].second) == (0, 192)


def test_measurements_that_say_the_reverse_are_opposite() -> None:
    """With the arms exchanged every gain turns into its contrary."""
    experiment = make_experiment("e04", {"A": template_runs(-700, 192), "B": template_runs(0, 0)}, caching="AB")
    gains = [claim for claim in CLAIMS["e04"] if claim.role == "gain"]
    assert {outcome.verdict for outcome in answers(experiment, gains).values()} == {"opposite"}


def test_what_cannot_be_told_apart_is_within_the_noise() -> None:
    """Arms of equal measurements neither gain nor lose."""
    experiment = make_experiment("e04", {"A": template_runs(0, 16), "B": template_runs(0, 16)}, caching="AB")
    gains = [claim for claim in CLAIMS["e04"] if claim.role == "gain"]
    assert {outcome.verdict for outcome in answers(experiment, gains).values()} == {"within the noise"}


def test_kept_blocks_are_the_full_ones_that_were_not_found() -> None:
    """200 prompt tokens and 7 stored answer tokens fill 12 blocks; of two requests alike the second adds none."""
    subject = make_run(tokens=8)
    alone = make_experiment("e11", {"hit128": [subject]}, caching=["hit128"])
    assert KEPT_BYTES.of_run(alone, subject) == [12 * BLOCK_BYTES]
    both = beside(with_request(subject, num_cached_tokens=192), filler(num_output_tokens=8))
    experiment = make_experiment("e11", {"hit128": [both]}, caching=["hit128"])
    assert KEPT_BYTES.of_run(experiment, both) == [12 * BLOCK_BYTES]


def test_without_prefix_caching_nothing_is_kept() -> None:
    """An engine that forgets leaves no block behind."""
    run = make_run(tokens=4)
    assert KEPT_BYTES.of_run(make_experiment("e11", {"miss128": [run]}), run) == [0]


def test_a_quick_set_answers_for_the_lengths_that_it_has() -> None:
    """Claims on a length that was not measured are left out."""
    arms = {"miss128": template_runs(0, 0), "hit128": template_runs(-700, 192)}
    found = outcomes(make_experiment("e11", arms, caching=["hit128"]), CLAIMS["e11"])
    assert {(outcome.claim.first, outcome.claim.second) for outcome in found} == {("miss128", "hit128")}
    assert {outcome.verdict for outcome in found} == {"as expected"}


def test_growth_compares_the_last_token_with_the_second() -> None:
    """From 40 to 100 ms it has grown by 150 %, and takes 2.5 times as long."""
    run = growing(100)
    experiment = make_experiment("e10", {"A": [run]})
    assert token_step_ns(run, run.requests[0], 2) == 40 * MS
    assert LAST_TOKEN.of_run(experiment, run) == [100 * MS]
    assert TOKEN_GROWTH.of_run(experiment, run) == [pytest.approx(1.5)]
    assert last_over_second(experiment, "A") == (6, pytest.approx(2.5))


def test_a_token_takes_its_whole_step() -> None:
    """Planning, sampling and bookkeeping belong to it."""
    run = with_steps(make_run(tokens=2), plan_ns=1, forward_ns=20, sample_ns=300, emit_ns=4000)
    assert token_step_ns(run, run.requests[0], 2) == 4321


def test_the_kv_cache_answers_with_flat_tokens_and_held_memory() -> None:
    """Growth and last token are less with it; the keys and values that a step finds ready are more."""
    without = [growing(ms) for ms in (200, 201, 199, 202, 198)]
    with_cache = [growing(ms, recomputes=False) for ms in (41, 40, 42, 39, 41)]
    claims = [claim for claim in CLAIMS["e10"] if claim.metric is not E2E]
    found = answers(make_experiment("e10", {"A": without, "B": with_cache}), claims)
    assert {outcome.verdict for outcome in found.values()} == {"as expected"}
    assert (found["ready_bytes"].first, found["ready_bytes"].second) == (0, 204 * TOKEN_BYTES)
    reversed_arms = make_experiment("e10", {"A": with_cache, "B": without})
    assert {outcome.verdict for outcome in answers(reversed_arms, claims).values()} == {"opposite"}


def test_a_growth_without_two_tokens_is_refused() -> None:
    """One token has no second to be compared with, and an arm must be there."""
    experiment = make_experiment("e10", {"A": [make_run(tokens=1)]})
    for arm_id in ("A", "C"):
        with pytest.raises(TraceError, match=r"no request of two tokens|no arm 'C'"):
            last_over_second(experiment, arm_id)


def crowded(num_blocks: int, preempted: int, extra_prefill: int, prefill_ms: int = 0) -> list[Run]:
    """Return five runs on a pool, in which the subject lost its blocks so often."""
    runs = []
    for ms in FIRST_MS:
        run = with_pool(make_run(tokens=4, prefill_ns=(ms + prefill_ms) * MS), num_blocks)
        lost = [["r7"] if index < preempted else [] for index in range(len(run.steps.start_ns))]
        prefill = [200 + extra_prefill] + [0] * (len(lost) - 1)
        runs.append(with_steps(run, preempted_ids=lost, prefill_tokens=prefill))
    return runs


def test_a_pool_that_is_too_small_saves_memory_and_costs_time() -> None:
    """Less memory; more preemptions, tokens computed twice, and a later end."""
    arms = {"A": crowded(28, 0, 0), "B": crowded(24, 1, 95, 600)}
    found = answers(make_experiment("e12", arms), CLAIMS["e12"])
    assert {name: outcome.verdict for name, outcome in found.items()} == dict.fromkeys(found, "as expected")
    assert (found["pool_bytes"].first, found["pool_bytes"].second) == (28 * BLOCK_BYTES, 24 * BLOCK_BYTES)
    assert (found["preempted"].second, found["recomputed_tokens"].second) == (1, 95)


def test_a_pool_that_never_filled_is_within_the_noise() -> None:
    """Without a preemption in either arm no cost is claimed."""
    arms = {"A": crowded(28, 0, 0), "B": crowded(24, 0, 0)}
    costs = [claim for claim in CLAIMS["e12"] if claim.metric in (PREEMPTED, RECOMPUTED_TOKENS, E2E, MAKESPAN)]
    found = answers(make_experiment("e12", arms), costs)
    assert {outcome.verdict for outcome in found.values()} == {"within the noise"}


def test_who_is_preempted_twice_is_counted_twice() -> None:
    """Each loss of blocks is one entry, in the order of the steps."""
    run = with_steps(make_run(tokens=2), preempted_ids=[["r4"], [], ["r3", "r4"]])
    assert preempted_ids(run) == ["r4", "r3", "r4"]
    assert PREEMPTED.of_run(make_experiment("e12", {"A": [run]}), run) == [3]


def test_found_tokens_are_not_computed_twice() -> None:
    """What the prefix cache spared is not missed in the sum."""
    run = with_steps(with_request(make_run(tokens=2), num_cached_tokens=64), prefill_tokens=[136, 0, 0])
    assert RECOMPUTED_TOKENS.of_run(make_experiment("e12", {"A": [run]}), run) == [0]


def test_the_makespan_is_from_the_first_start_to_the_last_byte() -> None:
    """A neighbour that started earlier counts; one that failed does not."""
    subject = make_run(tokens=2)
    early = msgspec.structs.replace(subject.requests[0], id="r1", role="neighbour", intended_start_ns=0)
    experiment = make_experiment("e12", {"A": [subject]})
    (alone_ns,) = MAKESPAN.of_run(experiment, subject)
    (e2e_ns,) = E2E.of_run(experiment, subject)
    assert alone_ns == e2e_ns
    assert MAKESPAN.of_run(experiment, beside(subject, early)) == [alone_ns + subject.requests[0].intended_start_ns]
    failed = msgspec.structs.replace(early, finish_reason="error")
    assert MAKESPAN.of_run(experiment, beside(subject, failed)) == [alone_ns]


def test_failed_requests_are_counted_and_yield_no_times() -> None:
    """A refused subject is one failure, not a fast answer."""
    run = with_request(make_run(tokens=4), finish_reason="error")
    experiment = make_experiment("e12", {"A": [run]})
    assert FAILED.of_run(experiment, run) == [1]
    for metric in (TTFT, TPOT, E2E, CACHED_TOKENS, LAST_TOKEN, TOKEN_GROWTH):
        assert metric.of_run(experiment, run) == []


def test_a_filler_is_a_neighbour() -> None:
    """Its first token is not the subject's."""
    run = beside(make_run(tokens=2, prefill_ns=100 * MS), filler(900))
    experiment = make_experiment("e04", {"A": [run]})
    (subject_ns,), (fill_ns,) = TTFT.of_run(experiment, run), FILL_TTFT.of_run(experiment, run)
    assert fill_ns - subject_ns == 800 * MS


def test_the_work_of_a_token_is_what_its_step_computed() -> None:
    """Without the KV cache the whole text so far, with it the newest token."""
    for recomputes, work in ((True, 205), (False, 1)):
        run = growing(100, recomputes=recomputes)
        assert token_work(run, run.requests[0], 6) == work
        assert token_work(run, run.requests[0], 1) == 200


def test_bytes_of_a_pool_follow_from_its_blocks() -> None:
    """All blocks that there are, times the size of one."""
    run = with_pool(make_run(tokens=2), 40)
    assert POOL_BYTES.of_run(make_experiment("e12", {"A": [run]}), run) == [40 * BLOCK_BYTES]


@pytest.mark.parametrize(
    ("num_blocks", "context_tokens", "fit"), [(24, 112, (3, 3)), (28, 112, (4, 0)), (24, 113, (3, 0)), (5, 112, (0, 5))]
)
def test_a_chat_takes_whole_blocks(num_blocks: int, context_tokens: int, fit: tuple[int, int]) -> None:
    """A pool fits so many chats of a length, and some blocks are left over."""
    assert chats_that_fit(num_blocks, context_tokens, 16) == fit

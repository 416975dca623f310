"""Metrics of the scheduler's experiments, on traces whose every step and token is known."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from trace_factory import MS, SPAN_TYPES, make_run
from traces import SCHEMA_VERSION
from traces.outcomes import Claim, outcomes
from traces.outcomes.of_requests import QUEUE, TTFT
from traces.outcomes.scheduling import (
    BUSY,
    CLAIMS,
    EMPTY_SEATS,
    NEIGHBOUR_RATE,
    REFUSED,
    WAITING,
    WORST_GAP,
    finished_later,
    load_growth,
)
from traces.schema import Arm, ClockBlock, Exemplar, Experiment, Prediction, Request, Run, Steps, Tokens


def make_experiment(arms: dict[str, list[Run]], experiment_id: str = "e08", seats: int = 4) -> Experiment:
    """Return an experiment with these arms."""
    made = [
        Arm(name, name, {"engine": {"max_num_seqs": seats}}, runs, Exemplar(0, "r7", "by hand"))
        for name, runs in arms.items()
    ]
    prediction = Prediction("by hand", {}, 1, 1, "0" * 64)
    return Experiment(SCHEMA_VERSION, experiment_id, "by-hand", "?", prediction, SPAN_TYPES, made)


def make_steps(*rows: tuple[int, int, int, int]) -> Run:
    """Return a run of steps (start, duration, running, waiting), times in ms, and no request."""
    columns: dict[str, Any] = {
        name: [0] * len(rows) for name in Steps.__struct_fields__ if name not in ("kv_blocks_total", "request_ids")
    }
    columns |= {name: [[]] * len(rows) for name in ("preempted_ids", "request_ids")}
    columns |= {"start_ns": [row[0] * MS for row in rows], "forward_ns": [row[1] * MS for row in rows]}
    columns |= {"running": [row[2] for row in rows], "waiting": [row[3] for row in rows]}
    return Run(ClockBlock(0, 0, 1, 1, 0), [], Steps(**columns))


def make_request(name: str, role: str, start_ms: int, *received_ms: int) -> Request:
    """Return a request whose tokens arrive at these times after its start."""
    gaps = [after - before for before, after in zip((0, *received_ms), received_ms, strict=False)]
    tokens = Tokens([0] * len(gaps), [], [], [], [gap * MS for gap in gaps])
    return Request(name, role, "measure", start_ms * MS, 1, 0, len(gaps), "length", [], tokens)  # type: ignore[arg-type]


def with_requests(*requests: Request) -> Run:
    """Return a run of these requests."""
    return msgspec.structs.replace(make_steps((0, 1, 1, 0)), requests=list(requests))


def test_empty_seats_are_counted_as_long_as_work_goes_on():
    """Four seats, of which three and then one are taken: 1 × 10 ms + 3 × 20 ms."""
    run = make_steps((0, 10, 3, 0), (10, 20, 1, 0))
    assert EMPTY_SEATS.of_run(make_experiment({"A": [run]}), run) == [70 * MS]


def test_the_line_is_averaged_over_time_and_not_over_steps():
    """Two wait for 10 ms of 40, one for 20; a pause between steps counts as nobody."""
    run = make_steps((0, 10, 1, 2), (10, 20, 1, 1), (35, 5, 1, 0))
    experiment = make_experiment({"A": [run]})
    assert WAITING.of_run(experiment, run) == [1.0]
    assert BUSY.of_run(experiment, run) == [pytest.approx(35 / 40)]


def test_the_worst_gap_is_any_neighbours_until_the_long_requests_first_token():
    """A gap counts if it overlaps that time; one before, one after, and a neighbour's first wait do not."""
    long = make_request("long", "subject", 100, 300, 900)  # first token at 400
    steady = make_request("r1", "neighbour", 0, 50, 90, 130, 420, 2000)  # 290 from 130 to 420; 1580 begins later
    late = make_request("r2", "neighbour", 0, 95, 150, 160)
    run = with_requests(steady, late, long)
    experiment = make_experiment({"A": [run]})
    assert WORST_GAP.of_run(experiment, run) == [290 * MS]
    assert NEIGHBOUR_RATE.of_run(experiment, run) == [pytest.approx(3 / 0.3)]  # at 130, 150 and 160


def test_refused_requests_are_counted():
    """They are the price of a short line."""
    refused = msgspec.structs.replace(make_request("r1", "subject", 0), finish_reason="error")
    run = with_requests(make_request("r2", "subject", 0, 10), refused)
    assert REFUSED.of_run(make_experiment({"A": [run]}), run) == [1]


def test_the_queue_is_the_paths_own():
    """What the path calls queue, in each answered subject."""
    run = make_run(queue_ns=77 * MS)
    assert QUEUE.of_run(make_experiment({"A": [run]}), run) == [77 * MS]


def test_who_finishes_later_is_told_request_by_request():
    """Later is by the end of the whole request, in the same round."""
    arms = {"A": [make_run(prefill_ns=500 * MS)], "B": [make_run(prefill_ns=400 * MS)]}
    assert finished_later(make_experiment(arms, "e07"), "A", "B") == (0, 1)
    assert finished_later(make_experiment(arms, "e07"), "B", "A") == (1, 1)


def test_growth_with_load_is_a_ratio_of_medians():
    """TTFT grows with the wait, time per token with the step."""
    slow = [make_run(queue_ns=60 * MS, decode_ns=100 * MS) for _ in range(5)]
    busy = [make_run(queue_ns=2060 * MS, decode_ns=150 * MS) for _ in range(5)]
    ttft, tpot = load_growth(make_experiment({"load35": slow, "load75": busy}, "e09"), "load35", "load75")
    assert ttft > 2.5
    assert tpot == pytest.approx(1.5, rel=0.02)


def test_chunks_that_help_and_cost_are_answered_as_expected_and_reversed():
    """The gap is shorter, the long request later; exchanged arms are opposite; equal ones are noise."""

    def arm(gap_ms: int, first_ms: int) -> list[Run]:
        return [
            with_requests(
                make_request("r1", "neighbour", 0, 90, 110, *range(110 + gap_ms + n, 2400, 100)),
                make_request("long", "subject", 100, first_ms + n, 3000),
            )
            for n in range(5)
        ]

    claims = [Claim(WORST_GAP, "A", "B", "less", "gain"), Claim(TTFT, "A", "B", "more", "cost")]
    assert {claim.metric for claim in claims} <= {claim.metric for claim in CLAIMS["e08"]}
    whole, chunked = arm(900, 950), arm(100, 1200)
    for first, second, verdict in (
        (whole, chunked, "as expected"),
        (chunked, whole, "opposite"),
        (whole, whole, "within the noise"),
    ):
        found = outcomes(make_experiment({"A": first, "B": second}), claims)
        assert {outcome.verdict for outcome in found} == {verdict}

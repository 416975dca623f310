"""What longer answers, a neighbour and a cold start answer, on hand-made traces: no number here is a measurement."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from trace_factory import MS, SPAN_TYPES, make_run
from traces import SCHEMA_VERSION
from traces.outcomes import outcomes
from traces.outcomes.startup import CLAIMS, RESIDENT, RESIDENT_GAUGE, START_NAMES, start_ns
from traces.schema import Arm, Exemplar, Experiment, Prediction, Run, SpanRow, SpanType

JITTER_MS = (0, 2, -1, 1, -2)
TYPES = [*SPAN_TYPES, *(SpanType(name, "model", "cpu", "before", "after", "server", 0) for name in START_NAMES)]


def make_experiment(experiment_id: str, arms: dict[str, Sequence[Run]]) -> Experiment:
    """Return an experiment of these arms."""
    prediction = Prediction("by hand", {}, 1, 1, "0" * 64)
    made = [Arm(name, name, {}, list(runs), Exemplar(0, "r7", "by hand")) for name, runs in arms.items()]
    return Experiment(SCHEMA_VERSION, experiment_id, "by-hand", "?", prediction, TYPES, made)


def runs(tokens: int = 4, queue_ms: int = 60) -> list[Run]:
    """Return five runs that differ a little in their queue."""
    return [make_run(tokens=tokens, queue_ns=(queue_ms + ms) * MS) for ms in JITTER_MS]


def started(run: Run, resident_bytes: int, *parts_ms: int) -> Run:
    """Return the run with a server's start of these parts before everything else, and its gauge."""
    request = run.requests[0]
    rows, cursor_ns = [], 0
    for name, part_ms in zip(START_NAMES, parts_ms, strict=False):
        rows.append(SpanRow([one.name for one in TYPES].index(name), -1, cursor_ns, part_ms * MS))
        cursor_ns += part_ms * MS
    later = [SpanRow(row.type, row.parent, row.start_ns + cursor_ns, row.duration_ns) for row in request.spans]
    gaps = [request.tokens.recv_gap_ns[0] + cursor_ns, *request.tokens.recv_gap_ns[1:]]
    steps = msgspec.structs.replace(run.steps, start_ns=[at + cursor_ns for at in run.steps.start_ns])
    tokens = msgspec.structs.replace(request.tokens, recv_gap_ns=gaps)
    moved = msgspec.structs.replace(request, spans=[*rows, *later], tokens=tokens)
    gauges = {RESIDENT_GAUGE: [resident_bytes]}
    return msgspec.structs.replace(run, requests=[moved], steps=steps, gauges=gauges)


def verdicts(experiment: Experiment) -> dict[str, str]:
    """Return the answer by the metric's name."""
    return {outcome.claim.metric.name: outcome.verdict for outcome in outcomes(experiment, CLAIMS[experiment.id])}


def test_a_longer_answer_ends_later_and_begins_at_the_same_time() -> None:
    """The rhythm stays too: all three claims hold."""
    found = verdicts(make_experiment("e22", {"A": runs(tokens=4), "B": runs(tokens=16)}))
    assert found == {"e2e": "as expected", "ttft": "as expected", "tpot": "as expected"}


def test_a_longer_answer_that_ends_earlier_is_the_opposite() -> None:
    """The claim can fail."""
    assert verdicts(make_experiment("e22", {"A": runs(tokens=16), "B": runs(tokens=4)}))["e2e"] == "opposite"


def test_a_neighbour_costs_a_wait() -> None:
    """Beside it the queue is longer and everything after it later; the other way round all are opposite."""
    idle, beside = runs(queue_ms=40), runs(queue_ms=140)
    assert set(verdicts(make_experiment("e23", {"A": beside, "A-idle": idle})).values()) == {"as expected"}
    assert set(verdicts(make_experiment("e23", {"A": idle, "A-idle": beside})).values()) == {"opposite"}


def test_equal_arms_are_noise() -> None:
    """Nothing is claimed of a difference that is not there."""
    assert set(verdicts(make_experiment("e23", {"A": runs(), "A-idle": runs()})).values()) == {"within the noise"}


def test_a_start_is_the_sum_of_its_parts_and_a_warm_server_has_none() -> None:
    """It is a part of the path, so the rest of the path stays as it was."""
    run = started(make_run(tokens=4), 0, 1000, 2000, 500, 100)
    experiment = make_experiment("e24", {"A": [run]})
    assert start_ns(experiment, run, run.requests[0]) == 3600 * MS
    warm = make_run(tokens=4)
    assert start_ns(experiment, warm, warm.requests[0]) == 0


def test_staying_warm_saves_the_start_and_costs_the_memory() -> None:
    """All claims hold on a machine where processes take seconds to start."""
    cold = [started(run, 0, 1000, 2000, 500, 100) for run in runs()]
    warm = [started(run, 900_000_000) for run in runs()]
    found = verdicts(make_experiment("e24", {"A": cold, "B": warm}))
    assert set(found.values()) == {"as expected"}
    reversed_found = verdicts(make_experiment("e24", {"A": warm, "B": cold}))
    assert {reversed_found[name] for name in ("ttft", "start", "resident")} == {"opposite"}


def test_memory_that_nobody_could_read_is_no_zero() -> None:
    """A run without the gauge yields no value."""
    run = make_run(tokens=4)
    assert list(RESIDENT.of_run(make_experiment("e24", {"A": [run]}), run)) == []

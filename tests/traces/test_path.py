"""The path of a request: a partition of its time, whatever its magnitudes are."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trace_factory import MS, make_experiment, make_run
from traces import TraceError
from traces.bindings import Subject
from traces.check import check_experiment, unattributed_faults
from traces.metrics import name_sums_ns, receive_times_ns, stage_sums_ns
from traces.schema import Run, SpanRow, Tokens

runs = st.builds(
    make_run,
    tokens=st.integers(1, 12),
    prefill_ns=st.integers(0, 20_000 * MS),
    decode_ns=st.integers(0, 400 * MS),
    queue_ns=st.integers(0, 9_000 * MS),
    small_ns=st.integers(0, 40 * MS),
    sample_ns=st.integers(0, 30 * MS),
    loop_ns=st.integers(0, 2 * MS),
)


def subject_of(run: Run) -> Subject:
    """Return the run's request as a picture sees it."""
    return Subject.exemplar(make_experiment(run), "A")


def with_spans(run: Run, spans: list[SpanRow]) -> Run:
    """Return the run with other stored spans in its request."""
    return msgspec.structs.replace(run, requests=[msgspec.structs.replace(run.requests[0], spans=spans)])


@given(runs)
def test_spans_of_a_path_touch(run: Run) -> None:
    """The path begins at 0, each span starts where the one before it ends, and none is empty."""
    path = subject_of(run).path
    assert path == [] or path[0].start_ns == 0
    assert all(before.end_ns == after.start_ns for before, after in pairwise(path))
    assert all(span.duration_ns > 0 for span in path)


@given(runs)
def test_a_path_sums_to_the_last_byte(run: Run) -> None:
    """Durations, sums by lane and sums by name all equal the time of the last byte, to the nanosecond."""
    path = subject_of(run).path
    end_ns = receive_times_ns(run.requests[0])[-1]
    assert sum(span.duration_ns for span in path) == end_ns
    assert sum(stage_sums_ns(path).values()) == end_ns
    assert sum(name_sums_ns(path).values()) == end_ns


@given(runs)
def test_ids_of_a_path_are_unique(run: Run) -> None:
    """An id names one span."""
    subject = subject_of(run)
    assert len(subject.spans_by_id) == len(subject.path)


@given(st.integers(1, 8), st.integers(0, 50 * MS))
def test_a_hole_becomes_an_unattributed_span(position: int, hole_ns: int) -> None:
    """Time that no stored span covers is drawn, as a span of its own and of exactly the hole's length."""
    run = make_run(tokens=2)
    spans = run.requests[0].spans
    moved = spans[:position] + [msgspec.structs.replace(s, start_ns=s.start_ns + hole_ns) for s in spans[position:]]
    steps = msgspec.structs.replace(run.steps, start_ns=[start + hole_ns for start in run.steps.start_ns])
    path = subject_of(msgspec.structs.replace(with_spans(run, moved), steps=steps)).path
    holes = [span for span in path if span.name == "unattributed"]
    assert [span.duration_ns for span in holes] == ([hole_ns] if hole_ns else [])
    assert all(before.end_ns == after.start_ns for before, after in pairwise(path))


@given(st.integers(1, 8), st.integers(1, 400_000))
def test_spans_that_overlap_are_refused(position: int, overlap_ns: int) -> None:
    """A nanosecond that two spans claim is an error that names the later one."""
    run = make_run(tokens=2)
    spans = list(run.requests[0].spans)
    spans[position] = msgspec.structs.replace(spans[position], start_ns=spans[position].start_ns - overlap_ns)
    with pytest.raises(TraceError, match=f"{overlap_ns} ns before the one before it ends"):
        subject_of(with_spans(run, spans)).path  # noqa: B018


def test_a_wait_says_what_it_waited_for() -> None:
    """The queue span names the step that was running when the request arrived."""
    queue = subject_of(make_run()).spans_by_id["r7/queue/0"]
    assert queue.attributes["waited_for"] == "step 0: r1"


def test_steps_of_others_inside_a_request_are_a_preemption() -> None:
    """A step that the request sat out turns the pause from loop into preempted; a second prefill follows."""
    run = make_run(tokens=3)
    ids = [list(row) for row in run.steps.request_ids]
    ids[2] = ["r1"]
    tokens = run.requests[0].tokens
    request = msgspec.structs.replace(
        run.requests[0],
        num_output_tokens=2,
        tokens=Tokens(**{name: getattr(tokens, name)[:3:2] for name in Tokens.__struct_fields__}),
        token_texts=None,
    )
    steps = msgspec.structs.replace(run.steps, request_ids=ids)
    subject = subject_of(msgspec.structs.replace(run, requests=[request], steps=steps))
    assert "r7/preempted/0" in subject.spans_by_id
    assert [span.name for span in subject.path if span.component == "model"] == ["prefill", "prefill"]
    assert sum(span.duration_ns for span in subject.path) == subject.path[-1].end_ns


def test_a_request_that_never_ran_is_all_queue() -> None:
    """Without a token the stay in the engine is one wait."""
    run = make_run(tokens=1)
    request = msgspec.structs.replace(
        run.requests[0], num_output_tokens=0, tokens=Tokens(), token_texts=[], finish_reason="cancelled"
    )
    path = subject_of(msgspec.structs.replace(run, requests=[request])).path
    assert [span.name for span in path if span.component in ("queue", "model")] == ["submit", "queue"]


@pytest.mark.parametrize(("hole_ns", "faults"), [(0, 0), (900_000, 0), (40 * MS, 1)])
def test_too_much_unattributed_time_is_a_fault(hole_ns: int, faults: int) -> None:
    """More than max(1 ms, 1 %) without a name fails the check of a one-request experiment."""
    run = make_run(tokens=2)
    spans = run.requests[0].spans
    last = msgspec.structs.replace(spans[-1], start_ns=spans[-1].start_ns + hole_ns)
    experiment = make_experiment(with_spans(run, [*spans[:-1], last]))
    assert len(unattributed_faults(experiment)) == faults


@given(runs)
def test_the_factory_keeps_every_invariant(run: Run) -> None:
    """What these tests stand on passes the loader's own checks."""
    if subject_of(run).path:
        check_experiment(make_experiment(run), Path("factory"))

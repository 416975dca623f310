"""Exports load back: slices nest, add up to the request, and say nothing of what was asked and answered."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trace_factory import MS, make_experiment, make_run, make_set
from traces import TraceError, TraceSet, load_set
from traces.bindings import Subject
from traces.export.otlp import otlp_json_lines
from traces.export.perfetto import ENGINE_TRACK, perfetto_json
from traces.export.selection import select_runs
from traces.export.tree import request_slices
from traces.schema import Request

CANARY = "a lighthouse in the fog"


def two_runs(folder: Path) -> TraceSet:
    """Return a loaded set with two runs of one arm, whose prompts and tokens hold a canary."""
    runs = (make_run(tokens=5, small_ns=400_123, text=CANARY), make_run(tokens=3, decode_ns=40 * MS + 7, text=CANARY))
    return load_set(make_set(folder, make_experiment(*runs)))


def perfetto_events(trace_set: TraceSet) -> list[dict[str, Any]]:
    """Return the events of a set's export, as a viewer would read them."""
    return json.loads(perfetto_json(trace_set, select_runs(trace_set)))["traceEvents"]


def ns(time_us: float) -> int:
    """Return the integer that a time in µs with three decimals stands for."""
    return round(time_us * 1000)


def tracks(events: list[dict[str, Any]]) -> dict[tuple[int, int], list[dict[str, Any]]]:
    """Return the slices by process and track."""
    found: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for event in events:
        if event["ph"] == "X":
            found.setdefault((event["pid"], event["tid"]), []).append(event)
    return found


def test_slices_of_a_track_nest(tmp_path: Path) -> None:
    """In the order of the file no slice starts before the one before it, and none leaves the slice it began in."""
    for track in tracks(perfetto_events(two_runs(tmp_path))).values():
        open_until: list[int] = []
        last_start = 0
        for event in track:
            start, end = ns(event["ts"]), ns(event["ts"]) + ns(event["dur"])
            assert start >= last_start
            while open_until and open_until[-1] <= start:
                open_until.pop()
            assert not open_until or end <= open_until[-1]
            open_until.append(end)
            last_start = start


def test_slices_of_the_path_are_its_spans_and_sum_to_the_end_to_end_time(tmp_path: Path) -> None:
    """Name, start and duration of each span come back, and together they fill the request."""
    trace_set = two_runs(tmp_path)
    events = tracks(perfetto_events(trace_set))
    for process, selected in enumerate(select_runs(trace_set), start=1):
        for track, subject in enumerate(selected.subjects, start=ENGINE_TRACK + 1):
            slices = events[process, track]
            zero_ns = subject.request.intended_start_ns
            path = [(e["args"]["id"], ns(e["ts"]) - zero_ns, ns(e["dur"])) for e in slices if e["cat"] == "path"]
            assert path == [(span.id, span.start_ns, span.duration_ns) for span in subject.path]
            (whole,) = [event for event in slices if event["cat"] == "request"]
            assert sum(duration for _, _, duration in path) == ns(whole["dur"])
            assert whole["args"]["num_output_tokens"] == subject.request.num_output_tokens
            own_steps = dict.fromkeys(span.step for span in subject.path if span.step is not None)
            assert [event["name"] for event in slices if event["cat"] == "step"] == [f"step {n}" for n in own_steps]


def test_engine_steps_have_a_track_and_counters(tmp_path: Path) -> None:
    """Each step of each run is a slice as long as its parts, and says what ran in it."""
    trace_set = two_runs(tmp_path)
    events = perfetto_events(trace_set)
    for process, selected in enumerate(select_runs(trace_set), start=1):
        steps = selected.run.steps
        track = tracks(events)[process, ENGINE_TRACK]
        whole = [event for event in track if event["cat"] == "step"]
        assert [ns(event["ts"]) for event in whole] == steps.start_ns
        assert sum(ns(e["dur"]) for e in whole) == sum(ns(e["dur"]) for e in track if e["cat"] == "part")
        assert [event["args"]["request_ids"] for event in whole] == steps.request_ids
        for name in ("running", "waiting", "kv_blocks_used"):
            counted = [e["args"][name] for e in events if e["ph"] == "C" and e["pid"] == process and e["name"] == name]
            assert counted == getattr(steps, name)


def test_processes_and_tracks_have_names(tmp_path: Path) -> None:
    """A viewer shows which arm and run a process is, and which request a track is."""
    names = [e["args"]["name"] for e in perfetto_events(two_runs(tmp_path)) if e["name"].endswith("_name")]
    assert names == [
        "e23 A, run 0: one neighbour decoding", "engine steps", "r7 subject",
        "e23 A, run 1: one neighbour decoding", "engine steps", "r7 subject",
    ]  # fmt: skip


@given(st.integers(1, 6), st.integers(1, 10**9), st.integers(1, 10**9), st.integers(0, 10**8), st.integers(0, 10**6))
def test_every_slice_lies_in_its_parent(tokens: int, prefill: int, decode: int, queue: int, small: int) -> None:
    """Whatever the durations, children come after their parent, within it, and do not overlap."""
    run = make_run(tokens=tokens, prefill_ns=prefill, decode_ns=decode, queue_ns=queue + MS, small_ns=small)
    experiment = make_experiment(run)
    known: dict[str, tuple[int, int]] = {}
    filled_to: dict[str, int] = {}
    for piece in request_slices(Subject.exemplar(experiment, "A")):
        end_ns = piece.start_ns + piece.duration_ns
        if piece.parent_id is not None:
            parent_start, parent_end = known[piece.parent_id]
            assert filled_to.get(piece.parent_id, parent_start) <= piece.start_ns <= end_ns <= parent_end
            filled_to[piece.parent_id] = end_ns
        assert piece.id not in known
        known[piece.id] = (piece.start_ns, end_ns)


def test_an_otlp_line_is_one_trace_of_one_request(tmp_path: Path) -> None:
    """Ids are hex and unique, parents exist, and children lie within them, on the wall clock."""
    trace_set = two_runs(tmp_path)
    lines = [json.loads(line) for line in otlp_json_lines(trace_set, select_runs(trace_set)).splitlines()]
    assert len(lines) == 2
    trace_ids = set()
    for line in lines:
        (spans,) = [scope["spans"] for r in line["resourceSpans"] for scope in r["scopeSpans"]]
        by_id = {span["spanId"]: span for span in spans}
        assert len(by_id) == len(spans)
        assert all(len(bytes.fromhex(key)) == 8 for key in by_id)
        (trace_id,) = {span["traceId"] for span in spans}
        assert len(bytes.fromhex(trace_id)) == 16
        trace_ids.add(trace_id)
        (root,) = [span for span in spans if "parentSpanId" not in span]
        assert root["kind"] == 3
        for span in spans:
            parent = by_id.get(span.get("parentSpanId"), span)
            assert int(parent["startTimeUnixNano"]) <= int(span["startTimeUnixNano"])
            assert int(span["startTimeUnixNano"]) <= int(span["endTimeUnixNano"]) <= int(parent["endTimeUnixNano"])
    assert len(trace_ids) == 2


def test_an_otlp_request_has_the_conventions_names(tmp_path: Path) -> None:
    """Token counts are strings of digits, times are seconds, and the start is the run's wall clock."""
    run = make_run(tokens=5)
    run = msgspec.structs.replace(
        run, clock=msgspec.structs.replace(run.clock, start_wall_ns=1_790_000_000 * 10**9, start_perf_ns=1_000)
    )
    trace_set = load_set(make_set(tmp_path, make_experiment(run)))
    (line,) = otlp_json_lines(trace_set, select_runs(trace_set)).splitlines()
    (resource,) = json.loads(line)["resourceSpans"]
    root = resource["scopeSpans"][0]["spans"][0]
    facts = {fact["key"]: fact["value"] for fact in root["attributes"]}
    assert {"key": "service.name", "value": {"stringValue": "spanreel"}} in resource["resource"]["attributes"]
    assert root["name"] == "chat test/model"
    assert root["startTimeUnixNano"] == str(1_790_000_000 * 10**9 - 1_000 + run.requests[0].intended_start_ns)
    assert facts["gen_ai.operation.name"] == {"stringValue": "chat"}
    assert facts["gen_ai.provider.name"] == {"stringValue": "spanreel"}
    assert facts["gen_ai.request.model"] == {"stringValue": "test/model"}
    assert facts["gen_ai.usage.input_tokens"] == {"intValue": "200"}
    assert facts["gen_ai.usage.output_tokens"] == {"intValue": "5"}
    assert facts["gen_ai.usage.cache_read.input_tokens"] == {"intValue": "0"}
    assert facts["gen_ai.response.finish_reasons"] == {"arrayValue": {"values": [{"stringValue": "length"}]}}
    first_s = run.requests[0].tokens.recv_gap_ns[0] / 1e9
    assert facts["gen_ai.response.time_to_first_chunk"] == {"doubleValue": pytest.approx(first_s)}


def test_a_cancelled_request_is_an_error(tmp_path: Path) -> None:
    """It has a status and no finish reason, for no model gave one."""
    run = make_run(tokens=2)
    cancelled = [msgspec.structs.replace(request, finish_reason="cancelled") for request in run.requests]
    run = msgspec.structs.replace(run, requests=cancelled)
    trace_set = load_set(make_set(tmp_path, make_experiment(run)))
    (line,) = otlp_json_lines(trace_set, select_runs(trace_set)).splitlines()
    root = json.loads(line)["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
    assert root["status"] == {"code": 2, "message": "cancelled"}
    assert {"key": "error.type", "value": {"stringValue": "cancelled"}} in root["attributes"]
    assert b"finish_reasons" not in line


@pytest.mark.parametrize("encode", [perfetto_json, otlp_json_lines])
def test_exports_are_equal_bytes_and_hold_no_text(tmp_path: Path, encode: Any) -> None:
    """Twice the same set gives the same file, and neither prompt nor reply is in it."""
    trace_set = two_runs(tmp_path)
    data = encode(trace_set, select_runs(trace_set))
    assert data == encode(load_set(trace_set.path), select_runs(trace_set))
    assert CANARY in trace_set.experiments["e23"].arms[0].runs[0].requests[0].prompt_text
    assert CANARY.encode() not in data


def test_only_what_is_asked_for_is_selected(tmp_path: Path) -> None:
    """One experiment or one arm; a name that is not there lists those that are."""
    trace_set = two_runs(tmp_path)
    assert len(select_runs(trace_set, "e23", "A")) == 2
    with pytest.raises(TraceError, match=r"no experiment 'e99'.*experiments: e23"):
        select_runs(trace_set, "e99")
    with pytest.raises(TraceError, match="no arm 'Z' in e23; arms: A"):
        select_runs(trace_set, "e23", "Z")


def test_a_request_that_never_reached_the_engine_is_exported(tmp_path: Path) -> None:
    """An error before the first span is a slice of no length, and breaks no export."""
    run = make_run(tokens=2)
    failed = Request(
        "r9", "subject", "measure", 5, 3, 0, 0, "error", [], msgspec.convert({}, type(run.requests[0].tokens))
    )
    run = msgspec.structs.replace(run, requests=[*run.requests, failed])
    trace_set = load_set(make_set(tmp_path, make_experiment(run)))
    (whole,) = tracks(perfetto_events(trace_set))[1, ENGINE_TRACK + 2]
    assert (whole["name"], whole["dur"]) == ("r9 subject", 0)
    assert len(otlp_json_lines(trace_set, select_runs(trace_set)).splitlines()) == 2

"""The Chrome trace-event format, which Perfetto and ``chrome://tracing`` open.

One process a run: a track with each replica's steps, a track for each request, and counters. All events of a track are
complete events (``X``) that nest, and begin with the outermost. Times are µs from the run's zero, with three decimals.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from traces.bindings import Subject
from traces.export.selection import SelectedRun
from traces.export.tree import Slice, request_slices
from traces.metrics import ttft_ns
from traces.schema import Steps
from traces.storage import TraceSet, canonical_json

ENGINE_TRACK = 1
"""Of the first replica; those of the others follow it, then the requests."""

_COUNTERS = ("running", "waiting", "kv_blocks_used")
_STEP_COLUMNS = ("prefill_tokens", "cached_tokens", "decode_tokens", "request_ids", "preempted_ids", "weight_bytes",
                 "kv_bytes", "flops")  # fmt: skip
_PARTS = ("plan", "forward", "sample", "emit")

Event = dict[str, Any]


def perfetto_json(trace_set: TraceSet, runs: Sequence[SelectedRun]) -> bytes:
    """Return the runs as one JSON object; equal runs give equal bytes."""
    events = [event for process, selected in enumerate(runs, start=1) for event in _run_events(process, selected)]
    header = trace_set.header
    about = {
        "set": header.name,
        "machine": header.fingerprint.label,
        "model": header.model.label,
        "commit": header.source_commit,
        "sha256": {selected.experiment.id: trace_set.sha256[selected.experiment.id] for selected in runs},
    }
    return canonical_json({"displayTimeUnit": "ms", "otherData": about, "traceEvents": events})


def _run_events(process: int, selected: SelectedRun) -> Iterator[Event]:
    title = f"{selected.experiment.id} {selected.arm.id}, run {selected.index}: {selected.arm.label}"
    yield _metadata("process_name", process, 0, {"name": title})
    yield _metadata("process_sort_index", process, 0, {"sort_index": process})
    replicas = selected.run.replica_steps
    for replica, steps in enumerate(replicas):
        whose = f" of replica {replica}" if len(replicas) > 1 else ""
        yield from _track(process, ENGINE_TRACK + replica, f"engine steps{whose}")
        yield from _step_events(process, ENGINE_TRACK + replica, steps)
        yield from _counter_events(process, steps, whose)
    for track, subject in enumerate(selected.subjects, start=ENGINE_TRACK + len(replicas)):
        yield from _track(process, track, f"{subject.request.id} {subject.request.role}")
        yield from _request_events(process, track, subject)


def _step_events(process: int, track: int, steps: Steps) -> Iterator[Event]:
    for index, start_ns in enumerate(steps.start_ns):
        columns = (steps.plan_ns, steps.forward_ns, steps.sample_ns, steps.emit_ns)
        durations = [column[index] for column in columns]
        facts = {name: getattr(steps, name)[index] for name in _STEP_COLUMNS}
        yield _complete(process, track, f"step {index}", "step", start_ns, sum(durations), facts)
        for part, duration_ns in zip(_PARTS, durations, strict=True):
            if duration_ns:
                yield _complete(process, track, part, "part", start_ns, duration_ns, {"step": index})
            start_ns += duration_ns


def _counter_events(process: int, steps: Steps, whose: str) -> Iterator[Event]:
    """Yield what each step began with."""
    for name in _COUNTERS:
        for start_ns, value in zip(steps.start_ns, getattr(steps, name), strict=True):
            counter = {"name": f"{name}{whose}", "ts": _us(start_ns), "args": {name: value}}
            yield {"ph": "C", "pid": process, "tid": 0} | counter


def _request_events(process: int, track: int, subject: Subject) -> Iterator[Event]:
    request = subject.request
    zero_ns = request.intended_start_ns
    for piece in request_slices(subject):
        facts = _request_facts(subject) if piece.category == "request" else _span_facts(piece)
        yield _complete(process, track, piece.name, piece.category, zero_ns + piece.start_ns, piece.duration_ns, facts)
    if request.num_output_tokens:
        at = _us(zero_ns + ttft_ns(request))
        yield {"ph": "i", "s": "t", "pid": process, "tid": track, "name": "first token received", "ts": at}


def _request_facts(subject: Subject) -> dict[str, Any]:
    names = ("role", "phase", "num_prompt_tokens", "num_cached_tokens", "num_output_tokens", "finish_reason")
    return {name: getattr(subject.request, name) for name in names}


def _span_facts(piece: Slice) -> dict[str, Any]:
    span = piece.span
    if span is None:
        return {}
    facts: dict[str, Any] = {
        "id": span.id,
        "component": span.component,
        "kind": span.kind,
        "clock": span.clock,
        "evidence": span.evidence,
        "uncertainty_ns": span.type.uncertainty_ns,
    }
    return facts | span.attributes


def _complete(
    process: int, track: int, name: str, category: str, start_ns: int, duration_ns: int, facts: dict[str, Any]
) -> Event:
    return {
        "ph": "X",
        "pid": process,
        "tid": track,
        "name": name,
        "cat": category,
        "ts": _us(start_ns),
        "dur": _us(duration_ns),
        "args": facts,
    }


def _track(process: int, track: int, name: str) -> Iterator[Event]:
    yield _metadata("thread_name", process, track, {"name": name})
    yield _metadata("thread_sort_index", process, track, {"sort_index": track})


def _metadata(kind: str, process: int, track: int, facts: dict[str, Any]) -> Event:
    return {"ph": "M", "pid": process, "tid": track, "name": kind, "args": facts}


def _us(duration_ns: int) -> float:
    return duration_ns / 1000

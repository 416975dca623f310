"""OpenTelemetry's JSON Lines: one line a request, each a ``TracesData`` with one trace.

Attributes carry the names of the generative-AI conventions where these have one, and ``spanreel.`` names elsewhere.
Wall-clock times are the run's anchor plus the measured distance from it, so a clock set meanwhile moves no span.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from traces.bindings import Subject
from traces.export.selection import SelectedRun
from traces.export.tree import Slice, request_slices
from traces.metrics import ttft_ns
from traces.storage import TraceSet, canonical_json

SERVICE = "spanreel"
KIND_INTERNAL = 1
KIND_CLIENT = 3
STATUS_ERROR = 2

_TRACE_ID_CHARS = 32
_SPAN_ID_CHARS = 16


def otlp_json_lines(trace_set: TraceSet, runs: Sequence[SelectedRun]) -> bytes:
    """Return each request of the runs as a line; equal runs give equal bytes, ids included."""
    lines = (_request_line(trace_set, selected, subject) for selected in runs for subject in selected.subjects)
    return b"".join(lines)


def _request_line(trace_set: TraceSet, selected: SelectedRun, subject: Subject) -> bytes:
    experiment_id = selected.experiment.id
    resource = {
        "service.name": SERVICE,
        "spanreel.set": trace_set.name,
        "spanreel.sha256": trace_set.sha256[experiment_id],
        "spanreel.machine": trace_set.header.fingerprint.label,
        "spanreel.experiment": experiment_id,
        "spanreel.arm": selected.arm.id,
        "spanreel.run": selected.index,
    }
    key = "/".join((trace_set.sha256[experiment_id], selected.arm.id, str(selected.index), subject.request.id))
    spans = list(_spans(trace_set.header.model.id, subject, _hex(key, _TRACE_ID_CHARS)))
    scope = {"scope": {"name": SERVICE}, "spans": spans}
    return canonical_json(
        {"resourceSpans": [{"resource": {"attributes": _attributes(resource)}, "scopeSpans": [scope]}]}
    )


def _spans(model: str, subject: Subject, trace_id: str) -> Iterator[dict[str, Any]]:
    clock = subject.run.clock
    zero_ns = clock.start_wall_ns - clock.start_perf_ns + subject.request.intended_start_ns
    for piece in request_slices(subject):
        is_request = piece.category == "request"
        start_ns = zero_ns + piece.start_ns
        span: dict[str, Any] = {
            "traceId": trace_id,
            "spanId": _hex(f"{trace_id}/{piece.id}", _SPAN_ID_CHARS),
            "name": f"chat {model}" if is_request else piece.name,
            "kind": KIND_CLIENT if is_request else KIND_INTERNAL,
            "startTimeUnixNano": str(start_ns),
            "endTimeUnixNano": str(start_ns + piece.duration_ns),
            "attributes": _attributes(_request_facts(model, subject) if is_request else _piece_facts(piece)),
        }
        if piece.parent_id is not None:
            span["parentSpanId"] = _hex(f"{trace_id}/{piece.parent_id}", _SPAN_ID_CHARS)
        if is_request and subject.request.finish_reason in ("error", "cancelled"):
            span["status"] = {"code": STATUS_ERROR, "message": subject.request.finish_reason}
        yield span


def _request_facts(model: str, subject: Subject) -> dict[str, Any]:
    request = subject.request
    facts: dict[str, Any] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": SERVICE,
        "gen_ai.request.model": model,
        "gen_ai.usage.input_tokens": request.num_prompt_tokens,
        "gen_ai.usage.output_tokens": request.num_output_tokens,
        "gen_ai.usage.cache_read.input_tokens": request.num_cached_tokens,
        "spanreel.request": request.id,
        "spanreel.role": request.role,
        "spanreel.phase": request.phase,
    }
    if request.num_output_tokens:
        facts["gen_ai.response.time_to_first_chunk"] = ttft_ns(request) / 1e9
    if request.finish_reason in ("stop", "length"):
        facts["gen_ai.response.finish_reasons"] = [request.finish_reason]
    else:
        facts["error.type"] = request.finish_reason
    return facts


def _piece_facts(piece: Slice) -> dict[str, Any]:
    span = piece.span
    if span is None:
        return {}
    facts: dict[str, Any] = {
        "component": span.component,
        "kind": span.kind,
        "clock": span.clock,
        "evidence": span.evidence,
        "uncertainty_ns": span.type.uncertainty_ns,
    }
    if span.step is not None:
        facts["step"] = span.step
    return {f"spanreel.{name}": value for name, value in (facts | span.attributes).items()}


def _attributes(facts: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"key": name, "value": _value(value)} for name, value in facts.items()]


def _value(value: Any) -> dict[str, Any]:
    """Return OTLP's tagged value; 64-bit integers are decimal strings there."""
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case list():
            return {"arrayValue": {"values": [_value(item) for item in value]}}
        case _:
            return {"stringValue": str(value)}


def _hex(key: str, num_chars: int) -> str:
    """Return an id that is the same in every export of the same request."""
    return hashlib.sha256(key.encode()).hexdigest()[:num_chars]

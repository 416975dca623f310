"""The recorded twin of a demo: what the page draws when nothing is live."""

from __future__ import annotations

from typing import Any

from scenes.grammar.stages import LANES, lane_of, model_lane_name, role, waits
from slides.account import ARM, EXPERIMENT
from traces import Span, TraceSet
from traces.bindings import Subject
from traces.metrics import e2e_ns, receive_times_ns, ttft_ns


def one_request(trace_set: TraceSet) -> dict[str, Any]:
    """Return the talk's request for the page's live panel, as plain JSON values.

    Returns:
        ``lanes`` (name; component, the lane's first; components, all of them), ``spans`` of the path (name, component
        of their lane, start_ns, duration_ns, pattern ``solid`` or ``wait``, colour role), ``tokens`` (t_ns received,
        text), ``ttft_ns``, ``e2e_ns``, ``machine``, ``model``, ``hash`` and ``prompt``.

    Raises:
        TraceError: The set lacks the request, or it produced no token.
    """
    subject = Subject.exemplar(trace_set.experiment(EXPERIMENT), ARM)
    request = subject.request
    texts = request.token_texts or [""] * request.num_output_tokens
    names = {"Model": model_lane_name(subject.path)}
    return {
        "lanes": [
            {"name": names.get(name, name), "component": components[0], "components": list(components)}
            for name, components in LANES
        ],
        "spans": [_span(span) for span in subject.path],
        "tokens": [
            {"t_ns": time_ns, "text": text} for time_ns, text in zip(receive_times_ns(request), texts, strict=True)
        ],
        "ttft_ns": ttft_ns(request),
        "e2e_ns": e2e_ns(subject.path),
        "machine": trace_set.header.fingerprint.label,
        "model": trace_set.header.model.label,
        "hash": trace_set.short_hash(EXPERIMENT),
        "prompt": request.prompt_text or "",
    }


def _span(span: Span) -> dict[str, Any]:
    lane = lane_of(span)
    return {
        "name": span.name,
        "component": span.component if lane is None else LANES[lane][1][0],
        "start_ns": span.start_ns,
        "duration_ns": span.duration_ns,
        "pattern": "wait" if waits(span) else "solid",
        "role": role(span),
    }

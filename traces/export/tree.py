"""A request as nested slices: the request, its stay in the engine, the engine's steps, and the spans of the path."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from traces.bindings import Subject
from traces.metrics import e2e_ns
from traces.spans import ENGINE, Span


@dataclass(frozen=True, slots=True)
class Slice:
    """One slice; it lies within its parent, and slices of one parent do not overlap."""

    id: str
    parent_id: str | None
    category: Literal["request", "engine", "step", "path"]
    """Those of the path are the leaves, and sum to the end-to-end time."""
    name: str
    start_ns: int
    """From the request's intended start."""
    duration_ns: int
    span: Span | None = None
    """What a slice of the path shows."""


def request_slices(subject: Subject) -> Iterator[Slice]:
    """Yield the slices of a request, each after its parent, in the order of time."""
    request_id = subject.request.id
    yield Slice(request_id, None, "request", f"{request_id} {subject.request.role}", 0, e2e_ns(subject.path))
    stays = _engine_stays(subject)
    for stay, spans in groupby(subject.path, key=lambda span: _stay_at(stays, span.start_ns)):
        if stay is None:
            yield from (_leaf(request_id, span) for span in spans)
            continue
        start_ns, end_ns = stays[stay]
        engine_id = f"{request_id}/{ENGINE}/{stay}"
        yield Slice(engine_id, request_id, "engine", ENGINE, start_ns, end_ns - start_ns)
        yield from _inside_engine(engine_id, spans)


def _inside_engine(engine_id: str, spans: Iterator[Span]) -> Iterator[Slice]:
    for step, group in groupby(spans, key=lambda span: span.step):
        parts = list(group)
        parent_id = engine_id
        if step is not None:
            parent_id = f"{engine_id}/step/{step}"
            start_ns = parts[0].start_ns
            yield Slice(parent_id, engine_id, "step", f"step {step}", start_ns, parts[-1].end_ns - start_ns)
        yield from (_leaf(parent_id, span) for span in parts)


def _leaf(parent_id: str, span: Span) -> Slice:
    return Slice(span.id, parent_id, "path", span.name, span.start_ns, span.duration_ns, span)


def _engine_stays(subject: Subject) -> list[tuple[int, int]]:
    """Return start and end of each stay in the engine."""
    types = subject.experiment.span_types
    rows = (row for row in subject.request.spans if row.parent < 0 and types[row.type].name == ENGINE)
    return sorted((row.start_ns, row.start_ns + row.duration_ns) for row in rows)


def _stay_at(stays: list[tuple[int, int]], at_ns: int) -> int | None:
    return next((index for index, (start_ns, end_ns) in enumerate(stays) if start_ns <= at_ns < end_ns), None)

"""Full span objects, and the path of a request: spans that touch from the intended start to the last byte.

A request stores the spans around the engine; what happened inside the engine is stored once, with the steps. The
path joins both. It is a partition: at any instant exactly one of its spans is open, so its durations sum to the
end-to-end time exactly.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from traces.errors import TraceError
from traces.schema import Clock, Component, Evidence, Experiment, Kind, Request, Run, SpanType, Steps

ENGINE = "engine"
"""The stored span that stands for the whole stay in the engine; the path replaces it by the steps inside."""

UNATTRIBUTED = SpanType(
    "unattributed", "unattributed", "wait", "end of the span before", "start of the span after", "server", 0
)


@dataclass(frozen=True, slots=True)
class Span:
    """One interval of one request, in nanoseconds from the request's intended start."""

    id: str
    """``request/type/index``."""
    type: SpanType
    start_ns: int
    duration_ns: int
    step: int | None = None
    """The engine step that it is part of."""
    attributes: dict[str, str | int | bool] = field(default_factory=dict)

    @property
    def end_ns(self) -> int:
        """Where it ends."""
        return self.start_ns + self.duration_ns

    @property
    def name(self) -> str:
        """Its type's name."""
        return self.type.name

    @property
    def component(self) -> Component:
        """The lane that it is drawn in."""
        return self.type.component

    @property
    def kind(self) -> Kind:
        """What was busy, or that nobody was."""
        return self.type.kind

    @property
    def clock(self) -> Clock:
        """Whose clock measured it."""
        return self.type.clock

    @property
    def evidence(self) -> Evidence:
        """Measured or emulated."""
        return self.type.evidence


_Piece = tuple[str, int, int, int | None, dict[str, str | int | bool]]  # type name, start, end, step, attributes


def request_path(experiment: Experiment, run: Run, request: Request) -> list[Span]:
    """Return the request's path.

    Raises:
        TraceError: Two spans of the path overlap, or a type is missing from the span-type table.
    """
    types = {span_type.name: span_type for span_type in experiment.span_types} | {"unattributed": UNATTRIBUTED}
    counts: dict[str, int] = {}
    spans: list[Span] = []
    cursor = 0
    for name, start, end, step, attributes in _pieces(experiment, run, request):
        if start < cursor:
            raise TraceError(
                f"request {request.id}: span {name} starts {cursor - start} ns before the one before it ends"
            )
        for piece_name, piece_start, piece_end in (("unattributed", cursor, start), (name, start, end)):
            if piece_end == piece_start:
                continue
            if piece_name not in types:
                raise TraceError(f"request {request.id}: span type {piece_name!r} is not in the table")
            index = counts.get(piece_name, 0)
            counts[piece_name] = index + 1
            own = piece_name == name
            spans.append(
                Span(
                    f"{request.id}/{piece_name}/{index}",
                    types[piece_name],
                    piece_start,
                    piece_end - piece_start,
                    step if own else None,
                    attributes if own else {},
                )
            )
        cursor = end
    return spans


def _pieces(experiment: Experiment, run: Run, request: Request) -> Iterator[_Piece]:
    roots = sorted((row for row in request.spans if row.parent < 0), key=lambda row: row.start_ns)
    for row in roots:
        name = experiment.span_types[row.type].name
        end = row.start_ns + row.duration_ns
        if name == ENGINE:
            yield from _engine_pieces(run.steps_of(request), request, row.start_ns, end)
        else:
            yield name, row.start_ns, end, None, row.attributes


def _engine_pieces(steps: Steps, request: Request, arrival_ns: int, leave_ns: int) -> Iterator[_Piece]:
    """Yield queue, and for each step of the request: plan, prefill or decode, sampler, emit, and what lay between."""
    if not request.tokens.step:
        yield "queue", arrival_ns, leave_ns, None, {}
        return
    token_steps = set(request.tokens.step)
    mine = [i for i in range(max(token_steps) + 1) if request.id in steps.request_ids[i]]
    cursor, previous = arrival_ns, None
    forward = "prefill"
    for index in mine:
        start = steps.start_ns[index] - request.intended_start_ns
        waiting = _waiting_name(previous, index)
        yield waiting, cursor, start, None, _waited_for(steps, request, index, cursor)
        cursor = start
        if waiting == "preempted":
            forward = "prefill"  # its keys and values were given up: prompt and answer are computed again
        durations = (steps.plan_ns, steps.forward_ns, steps.sample_ns, steps.emit_ns)
        for name, column in zip(("plan", forward, "sample", "emit"), durations, strict=True):
            end = min(cursor + column[index], leave_ns)
            yield name, cursor, end, index, {}
            cursor = end
        if index in token_steps:
            forward = "decode"
        previous = index
    if cursor < leave_ns:
        yield "loop", cursor, leave_ns, None, {}


def _waiting_name(previous: int | None, index: int) -> str:
    if previous is None:
        return "queue"
    return "loop" if index == previous + 1 else "preempted"


def _waited_for(steps: Steps, request: Request, index: int, cursor_ns: int) -> dict[str, str | int | bool]:
    """Name the step that was running when the wait began, if one was."""
    at = cursor_ns + request.intended_start_ns
    for earlier in range(index - 1, -1, -1):
        start = steps.start_ns[earlier]
        if start <= at < step_end_ns(steps, earlier):
            return {"waited_for": f"step {earlier}: {', '.join(steps.request_ids[earlier])}"}
        if start <= at:
            break
    return {}


def step_end_ns(steps: Steps, index: int) -> int:
    """Return when step ``index`` ended, from the run's zero."""
    return steps.start_ns[index] + step_ns(steps, index)


def step_ns(steps: Steps, index: int) -> int:
    """Return how long step ``index`` took, planning and bookkeeping included."""
    return sum(column[index] for column in (steps.plan_ns, steps.forward_ns, steps.sample_ns, steps.emit_ns))

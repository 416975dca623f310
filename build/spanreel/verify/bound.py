"""The ledger held to the trace: every mark resolves to what it says, and every span is drawn once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby

from scenes.ledger import Axis, Clip, Mark, Pause
from spanreel.verify.faults import Fault, located
from spanreel.verify.subjects import Subjects
from traces import TraceError
from traces.bindings import Measured, Subject
from traces.spans import Span

_ROUNDING_NS = 1


def resolve_marks(pause: Pause, subjects: Subjects) -> tuple[dict[str, Measured], list[Fault]]:
    """Resolve the binding of each mark again.

    Returns:
        What each resolves to, by mark id, and where that is not what the ledger says.
    """
    measured: dict[str, Measured] = {}
    faults = []
    for mark in pause.marks:
        if mark.source not in subjects:
            faults.append(Fault("binding", f"source {mark.source!r} is unknown", mark=mark.id))
            continue
        try:
            measured[mark.id] = subjects[mark.source].resolve(mark.binding)
        except TraceError as error:
            faults.append(Fault("binding", str(error), mark=mark.id))
            continue
        faults += _differences(mark, measured[mark.id])
    return measured, faults


def coverage_faults(clip: Clip, subjects: Subjects) -> Iterator[Fault]:
    """Find spans that are drawn twice in a row, and spans that are left out.

    Where a clip draws spans of a name, it draws all of that name that its axis shows; and the picture with the most
    spans on the main axis shows the whole path.
    """
    for pause in clip.pauses:
        yield from located(_repeated(pause, subjects), clip.clip, pause.name)
        for axis in pause.axes:
            for key, subject in subjects.items():
                drawn = _drawn_on(pause, axis, key, subject)
                names = {span.name for span in subject.path if span.id in drawn}
                shown = [span for span in _window(subject, axis) if span.name in names]
                yield from located(_left_out(shown, drawn, axis), clip.clip, pause.name)
    for key, subject in subjects.items():
        fullest = max(
            ((_drawn_on(pause, axis, key, subject), pause, axis) for pause in clip.pauses for axis in pause.axes
             if axis.kind == "main"), key=lambda found: len(found[0]), default=None,
        )  # fmt: skip
        if fullest and fullest[0]:
            drawn, pause, axis = fullest
            yield from located(_left_out(subject.path, drawn, axis), clip.clip, pause.name)


def covered(binding: str, subject: Subject) -> frozenset[str]:
    """Return the ids of the spans that a bar with this binding shows; metrics of the whole request show none."""
    if binding in subject.spans_by_id:
        return frozenset((binding,))
    kind, _, argument = binding.partition("/")[2].partition("/")
    wanted = set(argument.split("+"))
    if kind in ("names", "stages"):
        return frozenset(s.id for s in subject.path if (s.name if kind == "names" else s.component) in wanted)
    if kind == "extent":
        place = subject.resolve(binding)
        start_ns = place.start_ns or 0
        return frozenset(s.id for s in subject.path if start_ns <= s.start_ns and s.end_ns <= start_ns + place.value)
    return frozenset()


def _differences(mark: Mark, value: Measured) -> Iterator[Fault]:
    if value.start_ns is not None and abs(value.start_ns - mark.start_ns) > _ROUNDING_NS:
        yield Fault(
            "binding", f"starts at {mark.start_ns} ns", f"{value.start_ns} ns", mark=f"{mark.id}→{mark.binding}"
        )
    wanted = 0 if mark.kind == "separator" else value.value
    if abs(wanted - mark.duration_ns) > _ROUNDING_NS:
        yield Fault("binding", f"lasts {mark.duration_ns} ns", f"{wanted:.0f} ns", mark=f"{mark.id}→{mark.binding}")


def _bars(pause: Pause) -> list[Mark]:
    return [mark for mark in pause.marks if mark.kind == "bar"]


def _repeated(pause: Pause, subjects: Subjects) -> Iterator[Fault]:
    def row(mark: Mark) -> tuple[str, str, float, float]:
        return mark.axis, mark.source, mark.y0_px, mark.y1_px

    for (_, source, _, _), marks in groupby(sorted(_bars(pause), key=row), key=row):
        seen: dict[str, str] = {}
        for mark in marks if source in subjects else ():
            for span_id in _covered(mark, subjects):
                if span_id in seen:
                    yield Fault(
                        "binding", f"span {span_id} is also bar {seen[span_id]}", "one bar in a row", mark=mark.id
                    )
                seen[span_id] = mark.id


def _covered(mark: Mark, subjects: Subjects) -> frozenset[str]:
    try:
        return covered(mark.binding, subjects[mark.source])
    except TraceError:
        return frozenset()


def _drawn_on(pause: Pause, axis: Axis, key: str, subject: Subject) -> set[str]:
    own = [mark for mark in _bars(pause) if mark.axis == axis.id and mark.source == key]
    return {span_id for mark in own for span_id in _covered(mark, {key: subject})}


def _window(subject: Subject, axis: Axis) -> Iterable[Span]:
    """Return the spans that begin on an axis."""
    end_ns = max((tick.value_ns for tick in axis.ticks), default=0)
    return [span for span in subject.path if axis.kind == "main" or span.start_ns < end_ns]


def _left_out(spans: Iterable[Span], drawn: set[str], axis: Axis) -> Iterator[Fault]:
    for span in spans:
        if span.id not in drawn:
            yield Fault("missing", f"no bar on axis {axis.id}", f"one of {span.duration_ns} ns", mark=span.id)


def markers(clip: Clip, subjects: Mapping[str, Subject]) -> Iterator[dict[str, str | int]]:
    """Return, once a clip, each span whose bar is too thin or too covered to be read."""
    seen: set[str] = set()
    for pause in clip.pauses:
        for mark in _bars(pause):
            if not mark.readable and mark.source in subjects and mark.id not in seen:
                seen.add(mark.id)
                yield {"clip": clip.clip, "mark": mark.id, "binding": mark.binding, "duration_ns": mark.duration_ns}

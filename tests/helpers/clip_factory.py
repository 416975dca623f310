"""Hand-drawn clips for tests: a valid clip folder from any trace set, without the renderer.

The picture is a grey bar that grows to the end-to-end time, then the lanes with every span of the path. What is
drawn can be tampered with while the ledger stays as it was. Run as a program with a job file, it stands in for
``python -m scenes.render``.
"""

from __future__ import annotations

import sys
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from canvas import Canvas, encode, text_bitmap
from scenes import ledger
from scenes.job import RenderJob
from traces import TraceSet, load_set, wording
from traces.bindings import Subject
from traces.schema import COMPONENTS
from traces.spans import Span
from traces.storage import digest

THEME = tomllib.loads((Path(__file__).parents[2] / "slides" / "theme.toml").read_text(encoding="utf-8"))
COLOUR, ROLE = THEME["colour"], THEME["role"]
X0_PX, X1_PX = 384.0, 1824.0
GREY_Y0_PX, GREY_Y1_PX = 176.0, 228.0
LANES_Y_PX, LANE_PX, LANE_PITCH_PX = 264.0, 52.0, 60.0
AXIS_Y_PX, TICK_PX = 876.0, 12.0
READABLE_PX, SEPARATOR_PX = 3.0, 2.0


@dataclass(frozen=True)
class Tampering:
    """What is drawn otherwise than the ledger says."""

    bar_scale: float = 1.0
    """Factor on every bar's distance from the axis origin; the axis stays."""
    shift_px: Mapping[str, float] = field(default_factory=dict)
    """Shift of both edges, by mark id."""
    extra_bar: tuple[float, float, float, float] | None = None
    """x0, y0, x1, y1 of a bar that no entry names."""
    ease: Callable[[float], float] = lambda share: share
    """Share of the way → share of the growth; linear unless tampered with."""
    words: Mapping[str, str] = field(default_factory=dict)
    """Text on screen instead of the ledger's, by text id."""


@dataclass
class _Picture:
    """One request laid out: where each mark and text stands."""

    subject: Subject
    scale: float
    axis_end_ns: int
    texts: dict[str, ledger.Text] = field(default_factory=dict)

    def x(self, time_ns: float) -> float:
        return X0_PX + time_ns / self.axis_end_ns * (X1_PX - X0_PX)

    def lane_y(self, component: str) -> float:
        return LANES_Y_PX + LANE_PITCH_PX * COMPONENTS.index(component)  # type: ignore[arg-type]


def make_clip(
    out_dir: Path,
    trace_set: TraceSet,
    *,
    clip: str = "a00",
    titles: Mapping[str, str] | None = None,
    height_px: int = 540,
    mode: str = "film",
    unit_hash: str = "0" * 64,
    growth_frames: int = 12,
    tampering: Tampering | None = None,
) -> ledger.Clip:
    """Draw the clip into ``out_dir``: segments, stills, text bitmaps, and ``clip.json`` last."""
    out_dir.mkdir(parents=True, exist_ok=True)
    tampering = tampering or Tampering()
    subject = Subject.exemplar(trace_set.experiment("e23"), "A")
    picture = _Picture(subject, height_px / 1080, _axis_end_ns(subject.resolve(f"{subject.request.id}/e2e").value))
    axis = _axis(picture)
    grey = _grey_mark(picture)
    lanes = [mark for span in subject.path for mark in _span_marks(picture, span)]
    lanes += [_separator(picture, left, right) for left, right in _close_neighbours(picture)]
    hairline = _hairline(picture)
    labels = _labels(picture, trace_set, dict(titles or {"grey-bar": "A title without numbers"}), out_dir, tampering)
    base = _base(picture, axis, height_px)
    states = [
        ("empty", [], ["title", "footer", *(name for name in labels if name.startswith("tick"))], []),
        ("whole", [grey], ["e2e"], [grey]),
        ("lanes", [grey, *lanes, hairline], ["ttft", "thin"], [m for m in lanes if m.binding.endswith("/prefill/0")]),
    ]
    pauses, segments, shown = [], [], []
    for index, (name, marks, new_texts, grown) in enumerate(states):
        shown += [labels[text] for text in new_texts if text in labels]
        last = _paint(base, picture, marks, shown, tampering, {})
        still = f"still_{index}.png"
        last.save_png(out_dir / still)
        pauses.append(ledger.Pause(
            name, still, digest((out_dir / still).read_bytes()), [axis], marks, [label.entry for label in shown],
            f"Notes of {name}.", f"A hand-drawn picture: {name}.",
        ))  # fmt: skip
        if mode == "film":
            count = growth_frames if grown else 1
            file = f"segment_{index}.mp4"
            frames = _film(base, picture, marks, shown, grown, count, tampering)
            written = encode(frames, out_dir / file, THEME["motion"]["fps"])
            motions = [ledger.Motion(mark.id, 0, count - 1, mark.x0_px, mark.x1_px) for mark in grown]
            data = (out_dir / file).read_bytes()
            segments.append(ledger.Segment(file, digest(data), written, motions, f"Caption of {name}."))
    source = ledger.Source(
        "hook", "e23", "A", subject.arm.exemplar.run, subject.request.id, trace_set.sha256["e23"]
    )  # fmt: skip
    width_px = base.pixels.shape[1]
    record = ledger.Clip(
        ledger.LEDGER_VERSION, clip, unit_hash, width_px, height_px, THEME["motion"]["fps"], [source], pauses, segments
    )
    (out_dir / "clip.json").write_bytes(msgspec.json.encode(record, order="sorted") + b"\n")
    return record


@dataclass(frozen=True)
class _Label:
    entry: ledger.Text
    bitmap: object
    x: float
    y: float


def _axis_end_ns(e2e_ns: float) -> int:
    step = 10 ** int(np.floor(np.log10(e2e_ns)))
    return int(step * np.ceil(e2e_ns / step))


def _axis(picture: _Picture) -> ledger.Axis:
    ticks = [
        ledger.Tick(value, picture.x(value)) for value in np.linspace(0, picture.axis_end_ns, 5).astype(int).tolist()
    ]
    return ledger.Axis(
        "time", "main", X0_PX, X1_PX, AXIS_Y_PX, AXIS_Y_PX + 3, AXIS_Y_PX + TICK_PX, ticks, COLOUR["axis"]
    )  # fmt: skip


def _mark(
    picture: _Picture, mark_id: str, kind: str, binding: str, start_ns: int, duration_ns: int, **where
) -> ledger.Mark:
    box = {"x0_px": picture.x(start_ns), "x1_px": picture.x(start_ns + duration_ns)} | where
    return ledger.Mark(
        id=mark_id, kind=kind, binding=binding, source="hook", axis="time", start_ns=start_ns, duration_ns=duration_ns,
        **box,
    )  # fmt: skip


def _grey_mark(picture: _Picture) -> ledger.Mark:
    binding = f"{picture.subject.request.id}/e2e"
    duration_ns = int(picture.subject.resolve(binding).value)
    return _mark(
        picture, "grey", "bar", binding, 0, duration_ns, y0_px=GREY_Y0_PX, y1_px=GREY_Y1_PX, colour=COLOUR["unnamed"]
    )


def _span_marks(picture: _Picture, span: Span) -> Iterator[ledger.Mark]:
    y0 = picture.lane_y(span.component)
    wide = picture.x(span.duration_ns) - X0_PX >= READABLE_PX
    colour = ROLE.get(span.name) or ROLE.get(span.component) or COLOUR["unnamed"]
    yield _mark(
        picture, span.id, "bar", span.id, span.start_ns, span.duration_ns, y0_px=y0, y1_px=y0 + LANE_PX, colour=colour,
        pattern="wait" if span.kind == "wait" and wide else "solid", readable=wide,
    )  # fmt: skip
    if not wide:
        x = picture.x(span.start_ns + span.duration_ns / 2)
        yield _mark(
            picture, f"{span.id}/caret", "marker", span.id, span.start_ns, span.duration_ns, x0_px=x - 4, x1_px=x + 4,
            y0_px=y0 + LANE_PX, y1_px=y0 + LANE_PITCH_PX, colour=COLOUR["secondary"], readable=False,
        )  # fmt: skip


def _close_neighbours(picture: _Picture) -> list[tuple[Span, Span]]:
    """Return readable bars of one lane with less than a separator's width between them."""
    wide = [span for span in picture.subject.path if picture.x(span.duration_ns) - X0_PX >= READABLE_PX]
    return [
        (left, right)
        for component in COMPONENTS
        for left, right in pairwise([span for span in wide if span.component == component])
        if picture.x(right.start_ns) - picture.x(left.end_ns) < SEPARATOR_PX
    ]


def _separator(picture: _Picture, left: Span, right: Span) -> ledger.Mark:
    x = (picture.x(left.end_ns) + picture.x(right.start_ns)) / 2
    y0 = picture.lane_y(right.component)
    return _mark(
        picture, f"{right.id}/separator", "separator", right.id, right.start_ns, 0, x0_px=x - SEPARATOR_PX / 2,
        x1_px=x + SEPARATOR_PX / 2, y0_px=y0, y1_px=y0 + LANE_PX, colour=COLOUR["surface"],
    )  # fmt: skip


def _hairline(picture: _Picture) -> ledger.Mark:
    binding = f"{picture.subject.request.id}/ttft"
    first_ns = int(picture.subject.resolve(binding).value)
    x = picture.x(first_ns)
    return _mark(
        picture, "first-token", "hairline", binding, 0, first_ns, x0_px=x, x1_px=x + 3, y0_px=GREY_Y0_PX - 16,
        y1_px=GREY_Y1_PX + 16, colour=COLOUR["white"],
    )  # fmt: skip


def _labels(
    picture: _Picture, trace_set: TraceSet, titles: dict[str, str], out_dir: Path, tampering: Tampering
) -> dict[str, _Label]:
    """Lay out every text and write its bitmap."""
    request_id = picture.subject.request.id
    slide, title = next(iter(titles.items()))
    plain = {
        "title": (title, 96.0, 56.0, 44.0, slide),
        "footer": (f"trace {trace_set.short_hash('e23')}", 96.0, 996.0, 36.0, ""),
    }
    for index, value in enumerate(np.linspace(0, picture.axis_end_ns, 5)):
        plain[f"tick_{index}"] = (f"{value / 1e9:.2f} s", picture.x(value) - 40, 904.0, 36.0, "")
    labels = {
        name: _label(picture, name, text, _escaped(text), [], claim, x, y, size, out_dir, tampering)
        for name, (text, x, y, size, claim) in plain.items()
    }
    measured = {
        "e2e": ("{0} in all", f"{request_id}/e2e", "total", 96.0, GREY_Y0_PX + 8),
        "ttft": ("first {0}", f"{request_id}/ttft", "total", 96.0, picture.lane_y("network") + 8),
    }  # fmt: skip
    thin = next((span for span in picture.subject.path if span.name == "encode"), None)
    if thin:
        y = picture.lane_y("tokenizer") + 8
        measured["thin"] = ("encode {0}", thin.id, "stage", picture.x(thin.end_ns) + 16, y)
    for name, (template, binding, format_name, x, y) in measured.items():
        value = ledger.Value(binding, "hook", format_name)
        text = template.format(wording.FORMATS[format_name](picture.subject.resolve(binding).value))
        labels[name] = _label(picture, name, text, template, [value], "", x, y, 36.0, out_dir, tampering)
    return labels


def _label(picture, name, text, template, values, claim, x, y, size_px, out_dir, tampering) -> _Label:
    colour = COLOUR["text"]
    honest = text_bitmap(text, size_px, colour, picture.scale)
    honest.save(out_dir / f"text_{name}.png")
    x, y = round(x * picture.scale) / picture.scale, round(y * picture.scale) / picture.scale
    box = (x, y, x + honest.width / picture.scale, y + honest.height / picture.scale)
    entry = ledger.Text(
        name, text, template, values, claim, box, size_px, colour, COLOUR["background"], 15.0, f"text_{name}.png"
    )
    shown = text_bitmap(tampering.words.get(name, text), size_px, colour, picture.scale)
    return _Label(entry, shown, x, y)


def _escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _base(picture: _Picture, axis: ledger.Axis, height_px: int) -> Canvas:
    canvas = Canvas(height_px, COLOUR["background"])
    for component in COMPONENTS:
        y = picture.lane_y(component)
        canvas.box(X0_PX, y, X1_PX, y + LANE_PX, COLOUR["surface"])
    canvas.box(X0_PX, axis.y_px - 1.5, X1_PX, axis.y_px + 1.5, axis.colour)
    for tick in axis.ticks:
        canvas.box(tick.x_px - 1.5, axis.y_px, tick.x_px + 1.5, axis.tick_y1_px, axis.colour)
    return canvas


def _paint(base, picture, marks, labels, tampering: Tampering, grown_to: Mapping[str, float]) -> Canvas:
    """Draw the marks in order; a mark in ``grown_to`` ends at that share of its way."""
    canvas = base.copy()
    for mark in marks:
        shift = tampering.shift_px.get(mark.id, 0.0)
        stretch = tampering.bar_scale if mark.kind == "bar" else 1.0
        x0, x1 = (X0_PX + (x - X0_PX) * stretch + shift for x in (mark.x0_px, mark.x1_px))
        x1 = x0 + (x1 - x0) * grown_to.get(mark.id, 1.0)
        if mark.kind == "marker":
            canvas.caret((x0 + x1) / 2, mark.y0_px, mark.y1_px - mark.y0_px, mark.colour)
        else:
            canvas.box(x0, mark.y0_px, x1, mark.y1_px, mark.colour, mark.pattern)
    if tampering.extra_bar and marks:
        canvas.box(*tampering.extra_bar, ROLE["decode"])
    for label in labels:
        canvas.text(label.bitmap, label.x, label.y)
    return canvas


def _film(base, picture, marks, labels, grown, count: int, tampering: Tampering) -> Iterator[NDArray[np.uint8]]:
    for index in range(count):
        share = tampering.ease(index / (count - 1)) if count > 1 else 1.0
        yield _paint(base, picture, marks, labels, tampering, {mark.id: share for mark in grown}).rgb()


def main(job_file: str, pause_s: float = 0.0) -> None:
    """Draw the clip of a job file; with a pause, wait that long before the last file, to be killed in."""
    job = msgspec.json.decode(Path(job_file).read_bytes(), type=RenderJob)
    out_dir = Path(job.out_dir)
    record = make_clip(
        out_dir, load_set(Path(job.set_dir)), clip=job.clip, titles=job.titles, height_px=job.height_px, mode=job.mode,
        unit_hash=job.unit_hash,
    )  # fmt: skip
    if pause_s:
        (out_dir / "clip.json").unlink()
        time.sleep(pause_s)
        (out_dir / "clip.json").write_bytes(msgspec.json.encode(record, order="sorted") + b"\n")


if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[2])]
    main(sys.argv[1], *map(float, sys.argv[2:]))

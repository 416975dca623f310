"""The film's own renderer, made to draw something else than its ledger says. For tests of what verify notices.

Run as a program with a job file and a tampering file, it stands in for ``python -m scenes.render``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import msgspec


class Tampering(msgspec.Struct, frozen=True):
    """What is drawn otherwise. The ledger keeps saying the truth."""

    bar_scale: float = 1.0
    """Factor on every bar's distance from the left of the plot; the axis stays."""
    shift_px: dict[str, float] = {}
    """Shift of both edges, by mark id."""
    stray_bar_px: tuple[float, float, float, float] | None = None
    """x0, y0, x1, y1 of a bar in the colour of decode that no entry names."""
    pace: Literal["linear", "eased", "sudden"] = "linear"
    """How growth in time goes."""
    words: dict[str, str] = {}
    """What is written instead of the true words, by text id."""
    faint: float = 1.0
    """Opacity of all texts."""
    bitmaps_too: bool = False
    """The bitmaps that the clip keeps of these texts show the other words as well."""


def tamper(how: Tampering) -> None:
    """Change the renderer in this process."""
    _tamper_with_boxes(how)
    _tamper_with_words(how)
    if how.pace != "linear":
        _tamper_with_growth(_PACES[how.pace])


def _tamper_with_boxes(how: Tampering) -> None:
    from scenes.render import scene, shapes

    paint, set_up = shapes.Box.paint, scene.ClipScene.setup

    def edges_drawn(box: shapes.Box) -> tuple[float, float, float, float]:
        x0, y0, x1, y1 = box.edges
        shift = how.shift_px.get(box.mark.id, 0.0)
        if box.mark.kind == "bar":
            x0, x1 = (384 + (x - 384) * how.bar_scale for x in (x0, x1))
        return x0 + shift, y0, x1 + shift, y1

    def paint_moved(box: shapes.Box, brush: object) -> None:
        if box.mark:
            box = shapes.Box(*edges_drawn(box), box.fill_colour, pattern=box.pattern, opacity=box.opacity)
        paint(box, brush)

    def add_stray(clip: scene.ClipScene) -> None:
        set_up(clip)
        if how.stray_bar_px:
            clip.add(shapes.Box(*how.stray_bar_px, clip.theme.role["decode"]))

    shapes.Box.paint = paint_moved
    shapes.Box.extent = lambda box: (box.edges[0] - 12, box.edges[1], box.edges[2] + 12, box.edges[3])
    shapes.Box.dirty = lambda box, before, extent: [extent, box.extent()]
    scene.ClipScene.setup = add_stray


def _tamper_with_words(how: Tampering) -> None:
    from scenes.render import labels

    paint, ink = labels.Writing.paint, labels.Writing.ink

    def other_words(text: labels.Writing) -> labels.Writing:
        words = how.words.get(text.claim.text_id)
        if words is None or not isinstance(text, labels.Label):
            return text
        return labels.Label([(words, text.runs[-1][1])], *text.points[0, :2], anchor=text.anchor)

    def paint_other(text: labels.Writing, brush: object) -> None:
        with brush.layer(text.extent(), how.faint):
            paint(other_words(text), brush)

    labels.Writing.paint = paint_other
    if how.bitmaps_too:
        labels.Writing.ink = lambda text: ink(other_words(text))


def _tamper_with_growth(pace: Callable[[float], float]) -> None:
    from scenes.render import animations

    def other(show: Callable[[object, float], None]) -> Callable[[object, float], None]:
        return lambda growth, share: show(growth, pace(share))

    animations.Grow.show = other(animations.Grow.show)
    animations.Sweep.show = other(animations.Sweep.show)


_PACES: dict[str, Callable[[float], float]] = {
    "eased": lambda share: share * share * (3 - 2 * share),
    "sudden": lambda share: 1.0 if share > 0 else 0.0,
}


def main(job_file: str, tampering_file: str) -> None:
    """Draw the clip of a job file."""
    from scenes.render import run

    how = msgspec.json.decode(Path(tampering_file).read_bytes(), type=Tampering)
    prepare = run._prepare_manim

    def prepare_and_tamper(*arguments: object) -> object:
        clip_class = prepare(*arguments)
        tamper(how)
        return clip_class

    run._prepare_manim = prepare_and_tamper
    run.render(run.read_job(Path(job_file)))


if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[2])]
    main(sys.argv[1], sys.argv[2])

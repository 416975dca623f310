"""The film's own renderer, made to draw something else than its ledger says. For tests of what verify notices.

Run as a program with a job file and a tampering file, it stands in for ``python -m scenes.render``.
"""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec


class Tampering(msgspec.Struct, frozen=True):
    """What is drawn otherwise. The ledger keeps saying the truth."""

    bar_scale: float = 1.0
    """Factor on every bar's distance from the left of the plot; the axis stays."""
    shift_px: dict[str, float] = {}
    """Shift of both edges, by mark id."""
    stray_bar_px: tuple[float, float, float, float] | None = None
    """x0, y0, x1, y1 of a bar in the colour of decode that no entry names."""
    eased: bool = False
    """Growth eases in and out."""
    words: dict[str, str] = {}
    """What is written instead of the true words, by text id."""


def tamper(how: Tampering) -> None:
    """Change the renderer in this process."""
    from scenes.render import animations, labels, scene, shapes

    paint_box, paint_text = shapes.Box.paint, labels.Writing.paint
    show_growth, show_sweep = animations.Grow.show, animations.Sweep.show
    construct = scene.ClipScene.setup

    def edges_drawn(box: shapes.Box) -> tuple[float, float, float, float]:
        x0, y0, x1, y1 = box.edges
        shift = how.shift_px.get(box.mark.id, 0.0)
        if box.mark.kind != "bar":
            return x0 + shift, y0, x1 + shift, y1
        x0, x1 = (384 + (x - 384) * how.bar_scale + shift for x in (x0, x1))
        return x0, y0, x1, y1

    def paint_moved(box: shapes.Box, brush: object) -> None:
        if box.mark is None:
            paint_box(box, brush)
            return
        twin = shapes.Box(*edges_drawn(box), box.fill_colour, pattern=box.pattern)
        twin.opacity = box.opacity
        paint_box(twin, brush)

    def write_other(text: labels.Writing, brush: object) -> None:
        words = how.words.get(text.claim.text_id)
        if words is None or not isinstance(text, labels.Label):
            paint_text(text, brush)
            return
        other = labels.Label([(words, text.runs[-1][1])], *text.points[0, :2], anchor=text.anchor)
        paint_text(other, brush)

    def ease(share: float) -> float:
        return share * share * (3 - 2 * share)

    def add_stray(clip: scene.ClipScene) -> None:
        construct(clip)
        if how.stray_bar_px:
            clip.add(shapes.Box(*how.stray_bar_px, clip.theme.role["decode"]))

    shapes.Box.paint = paint_moved
    shapes.Box.extent = lambda box: (box.edges[0] - 12, box.edges[1], box.edges[2] + 12, box.edges[3])
    shapes.Box.dirty = lambda box, before, extent: [extent, box.extent()]
    labels.Writing.paint = write_other
    scene.ClipScene.setup = add_stray
    if how.eased:
        animations.Grow.show = lambda growth, share: show_growth(growth, ease(share))
        animations.Sweep.show = lambda sweep, share: show_sweep(sweep, ease(share))


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

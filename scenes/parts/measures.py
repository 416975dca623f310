"""Dimension lines and markers: lengths and slivers with their numbers beside them."""

from __future__ import annotations

from collections.abc import Sequence

from manim import Mobject

from scenes.grammar.dimension import CAP_PX, LINE_PX, dimension
from scenes.grammar.scale import Scale
from scenes.parts.facts import Facts, Piece, Quoted
from scenes.parts.lettering import centred
from scenes.render.scene import group
from scenes.render.shapes import Box, Polygon, Stroke
from scenes.theme import Theme

CARET_PX = 14.0
CARET_GAP_PX = 4.0


def dimension_line(
    theme: Theme,
    facts: Facts,
    scale: Scale,
    name: str,
    middle_y: float,
    pieces: Sequence[Piece],
    quotes: Sequence[Quoted],
    *,
    follows: bool = False,
) -> Mobject:
    """Return a dimension line over a metric that has a place on the axis, with its label set into it.

    Args:
        theme: Colours.
        facts: The request.
        scale: The axis.
        name: The metric, such as ``ttft``; also the bracket's name in the ledger.
        middle_y: Height of the line.
        pieces: The label.
        quotes: The label's values.
        follows: Whether another line ends where it begins, whose cap serves both.
    """
    measured = facts.subject.resolve(facts.binding(name))
    start_ns = measured.start_ns or 0
    x0, x1 = scale.x(start_ns), scale.x(start_ns + measured.value)
    size = pieces[0][1].size_px
    place = dimension(x0, x1, facts.width_px(pieces, quotes), theme.page.left_px, theme.page.right_px)
    colour = theme.colour.text
    # The caps lie inside the measured length: their outer edges are the measured times.
    caps = [(x1 - LINE_PX, x1)] if follows else [(x0, x0 + LINE_PX), (x1 - LINE_PX, x1)]
    parts: list[Mobject] = [
        Box(left, middle_y - CAP_PX / 2, right, middle_y + CAP_PX / 2, colour) for left, right in caps
    ]
    parts += [Stroke([(a, middle_y), (b, middle_y)], colour, LINE_PX) for a, b in place.strokes if b > a]
    whole = Box(x0, middle_y, x1, middle_y, colour, mark=facts.mark("bracket", name, "dimension", readable=False))
    label = facts.label(pieces, quotes, place.label_x0_px, centred(middle_y, size), f"dimension-{name}")
    return group(whole, *parts, label)


def caret(theme: Theme, x_px: float, middle_y: float, facts: Facts, name: str, *, points_left: bool = True) -> Mobject:
    """Return the marker of slivers: a caret that points at them from beside.

    Args:
        theme: Colours.
        x_px: The edge of the slivers that it points at.
        middle_y: The middle of their row.
        facts: The request.
        name: The metric that names them together, such as ``names/receive``.
        points_left: Whether it stands to their right.
    """
    away = 1 if points_left else -1
    tip = x_px + away * CARET_GAP_PX
    base = tip + away * CARET_PX
    half = CARET_PX / 2 + 1
    mark = facts.mark("marker", name, "marker", readable=False)
    return Polygon(
        [(tip, middle_y), (base, middle_y - half), (base, middle_y + half)], theme.colour.secondary, mark=mark
    )

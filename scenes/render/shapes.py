"""Boxes, strokes and polygons. What is stroked on a box lies inside it, so that its edges stay where they are."""

from __future__ import annotations

from typing import Any, Literal

import cairo
import numpy as np

from scenes.render.drawn import Brush, Drawn, Rect
from scenes.render.marks import MarkInfo

Pattern = Literal["solid", "wait", "illustrative", "outline"]

OUTLINE_PX = 3.0
HATCH_LINE_PX = 4.5
HATCH_PITCH_PX = 14.0
PROBE_PX = 6.0
"""Rows at the top and the bottom of a bar that show nothing but its true edges."""
THIN_PX = 6.0
"""Narrower boxes are filled, whatever their pattern."""
HATCHED_FROM_PX = 20.0
"""Narrower boxes lose the hatching and keep the outline."""


class Box(Drawn):
    """A rectangle with exact edges.

    Args:
        x0, y0, x1, y1: Edges in px of the page.
        fill: Colour of the fill, or of outline and hatching where the pattern has no fill.
        radius: Corner radius; 0 for everything whose edges mean time.
        pattern: ``wait`` and ``illustrative`` are an outline with hatching, which stays put while the box moves.
        outline: Colour of a stroke inside the box, ``outline_px`` wide.
        heavy_left: Colour of a heavy left edge, ``heavy_left_px`` wide, a quarter of the box at most.
        opacity: 0 to 1.
        mark: What it stands for.
    """

    def __init__(
        self,
        x0: float,
        y0: float,
        x1: float,
        y1: float,
        fill: str,
        radius: float = 0.0,
        pattern: Pattern = "solid",
        outline: str | None = None,
        outline_px: float = 0.0,
        heavy_left_px: float = 0.0,
        heavy_left: str | None = None,
        opacity: float = 1.0,
        mark: MarkInfo | None = None,
    ) -> None:
        if x1 < x0 or y1 < y0:
            raise ValueError(f"box from ({x0}, {y0}) to ({x1}, {y1}): its end lies before its start")
        if mark and pattern == "illustrative":
            raise ValueError(f"mark {mark.id!r}: what is illustrative stands for no measurement")
        super().__init__([(x0, y0), (x1, y1)], opacity, mark)
        self.fill_colour = fill
        self.radius_px = radius
        self.pattern = pattern
        self.outline_colour = outline
        self.outline_px = outline_px
        self.heavy_left_colour = heavy_left
        self.heavy_left_px = heavy_left_px

    @property
    def edges(self) -> Rect:
        """x0, y0, x1, y1 as drawn now."""
        (x0, y0, _), (x1, y1, _) = self.points.tolist()
        return x0, y0, x1, y1

    @property
    def mark_colour(self) -> str:
        """Its fill."""
        return self.fill_colour

    @property
    def drawn_pattern(self) -> Pattern:
        """The pattern as drawn at the width that it has now."""
        x0, _, x1, _ = self.edges
        return "solid" if x1 - x0 < THIN_PX else self.pattern

    def set_edges(self, x0: float, y0: float, x1: float, y1: float) -> None:
        """Place it elsewhere."""
        self.points = np.array([(x0, y0, 0.0), (x1, y1, 0.0)])

    def extent(self) -> Rect:
        """Return its edges: nothing is painted outside."""
        return self.edges

    def state(self) -> tuple[Any, ...]:
        """Return edges, opacity and colours."""
        return (*super().state(), self.fill_colour, self.outline_colour, self.radius_px, self.heavy_left_px)

    def dirty(self, before: tuple[Any, ...], extent_before: Rect) -> list[Rect]:
        """Return the strip at its right end if only that moved."""
        x0, y0, x1, y1 = self.edges
        rest_moved = before[0] != self.opacity or before[5:] != self.state()[5:] or extent_before[:2] != (x0, y0)
        near_start = min(x1, extent_before[2]) - x0 < max(HATCHED_FROM_PX, 4 * self.heavy_left_px)
        if rest_moved or near_start or extent_before[3] != y1:
            return super().dirty(before, extent_before)
        margin = max(self.radius_px, self.outline_px, OUTLINE_PX) + 1
        return [(min(x1, extent_before[2]) - margin, y0, max(x1, extent_before[2]), y1)]

    def paint(self, brush: Brush) -> None:
        """Fill, pattern, heavy edge and outline."""
        x0, y0, x1, y1 = self.edges
        context = brush.context
        if x1 <= x0 or y1 <= y0:
            return
        brush.colour(self.fill_colour)
        if self.drawn_pattern == "solid":
            _trace(context, self.edges, self.radius_px)
            context.fill()
        else:
            _line_inside(context, self.edges, self.radius_px, self.outline_px or OUTLINE_PX)
            if self.pattern != "outline" and x1 - x0 >= HATCHED_FROM_PX:
                _hatch(context, self.edges, self.radius_px, rising=self.pattern == "wait")
        if self.heavy_left_colour and self.heavy_left_px:
            brush.colour(self.heavy_left_colour)
            width = min(self.heavy_left_px, (x1 - x0) / 4)
            context.rectangle(x0, y0 + PROBE_PX, width, max(0.0, y1 - y0 - 2 * PROBE_PX))
            context.fill()
        if self.outline_colour and self.outline_px:
            brush.colour(self.outline_colour)
            _line_inside(context, self.edges, self.radius_px, self.outline_px)


class Stroke(Drawn):
    """An open line through points, with butt ends.

    Args:
        points: At least two, in px of the page.
        colour: Its colour.
        width_px: Its width.
        dash: Lengths of line and gap, in px; solid without.
        opacity: 0 to 1.
        mark: What it stands for.
    """

    def __init__(
        self,
        points: list[tuple[float, float]],
        colour: str,
        width_px: float,
        dash: tuple[float, ...] = (),
        opacity: float = 1.0,
        mark: MarkInfo | None = None,
    ) -> None:
        super().__init__(points, opacity, mark)
        self.stroke_colour = colour
        self.width_px = width_px
        self.dash = dash

    @property
    def mark_colour(self) -> str:
        """Its colour."""
        return self.stroke_colour

    @property
    def edges(self) -> Rect:
        """x0, y0, x1, y1 as drawn now: an upright or a level line is as thick as its width."""
        x0, y0, x1, y1 = super().edges
        half_x, half_y = self.width_px / 2 * (x0 == x1), self.width_px / 2 * (y0 == y1)
        return x0 - half_x, y0 - half_y, x1 + half_x, y1 + half_y

    def extent(self) -> Rect:
        """Return the box of its points, widened by its width."""
        x0, y0, x1, y1 = super().edges
        return x0 - self.width_px, y0 - self.width_px, x1 + self.width_px, y1 + self.width_px

    def paint(self, brush: Brush) -> None:
        """Stroke it."""
        context = brush.context
        brush.colour(self.stroke_colour)
        context.set_line_width(self.width_px)
        context.set_line_cap(cairo.LINE_CAP_BUTT)
        context.set_line_join(cairo.LINE_JOIN_MITER)
        context.set_dash(self.dash)
        for x, y, _ in self.points:
            context.line_to(x, y)
        context.stroke()
        context.set_dash(())


class Polygon(Drawn):
    """A filled polygon: carets, wedges of a lens, steps of a counter."""

    def __init__(
        self, points: list[tuple[float, float]], fill: str, opacity: float = 1.0, mark: MarkInfo | None = None
    ) -> None:
        super().__init__(points, opacity, mark)
        self.fill_colour = fill

    @property
    def mark_colour(self) -> str:
        """Its fill."""
        return self.fill_colour

    def extent(self) -> Rect:
        """Return the box of its points."""
        return self.edges

    def state(self) -> tuple[Any, ...]:
        """Return points, opacity and colour."""
        return (*super().state(), self.fill_colour)

    def paint(self, brush: Brush) -> None:
        """Fill it."""
        brush.colour(self.fill_colour)
        for x, y, _ in self.points:
            brush.context.line_to(x, y)
        brush.context.close_path()
        brush.context.fill()


def _trace(context: cairo.Context[Any], box: Rect, radius: float) -> None:
    x0, y0, x1, y1 = box
    radius = min(radius, (x1 - x0) / 3, (y1 - y0) / 2)
    if radius <= 0:
        context.rectangle(x0, y0, x1 - x0, y1 - y0)
        return
    context.new_sub_path()
    for x, y, quarter in ((x1, y0, -1), (x1, y1, 0), (x0, y1, 1), (x0, y0, 2)):
        centre_x = x - radius if x == x1 else x + radius
        centre_y = y - radius if y == y1 else y + radius
        context.arc(centre_x, centre_y, radius, quarter * np.pi / 2, (quarter + 1) * np.pi / 2)
    context.close_path()


def _line_inside(context: cairo.Context[Any], box: Rect, radius: float, width: float) -> None:
    """Fill the frame between a box and the box that lies ``width`` further in."""
    x0, y0, x1, y1 = box
    width = min(width, (x1 - x0) / 2, (y1 - y0) / 2)
    _trace(context, box, radius)
    _trace(context, (x0 + width, y0 + width, x1 - width, y1 - width), max(0.0, radius - width))
    context.set_fill_rule(cairo.FILL_RULE_EVEN_ODD)
    context.fill()
    context.set_fill_rule(cairo.FILL_RULE_WINDING)


def _hatch(context: cairo.Context[Any], box: Rect, radius: float, *, rising: bool) -> None:
    """Paint diagonal lines inside a box; they are anchored to the page."""
    x0, y0, x1, y1 = box
    context.save()
    _trace(context, box, radius)
    context.clip()
    context.set_line_width(HATCH_LINE_PX)
    step = HATCH_PITCH_PX * np.sqrt(2)
    slope = 1 if rising else -1
    reach = (x0 + slope * y0, x0 + slope * y1, x1 + slope * y0, x1 + slope * y1)
    for index in range(int(np.floor(min(reach) / step)), int(np.ceil(max(reach) / step)) + 1):
        offset = index * step
        context.move_to(offset - slope * (y0 - HATCH_LINE_PX), y0 - HATCH_LINE_PX)
        context.line_to(offset - slope * (y1 + HATCH_LINE_PX), y1 + HATCH_LINE_PX)
    context.stroke()
    context.restore()

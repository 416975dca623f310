"""The time axis as drawn, and as the ledger knows it."""

from __future__ import annotations

from manim import Mobject

from scenes import ledger
from scenes.grammar.scale import Scale, ticks
from scenes.parts.lettering import Lettering
from scenes.render.animations import Move
from scenes.render.labels import Label
from scenes.render.metrics import measure
from scenes.render.scene import group
from scenes.render.shapes import Stroke
from scenes.theme import Theme

LINE_PX = 3.0
TICK_PX = 12.0
NUMBER_DROP_PX = 54.0


class TimeAxis:
    """A linear axis from 0 at the left of the plot, with its unit behind the last number.

    Args:
        theme: Colours and measures.
        scale: Its scale.
        longest_ns: The longest bar on it; it decides the unit.
        y_px: Centre of its line.
    """

    def __init__(self, theme: Theme, scale: Scale, longest_ns: int, y_px: float) -> None:
        self._theme = theme
        self._scale = scale
        self._marks = ticks(scale, longest_ns)
        self.y_px = y_px
        self.picture: Mobject = group(*self._lines(), *self._numbers())

    def move(self, y_px: float, run_time: float) -> Move:
        """Return the animation that brings it to another height; it is registered anew with :meth:`entry`."""
        dy, self.y_px = y_px - self.y_px, y_px
        return Move(self.picture, 0, dy, run_time=run_time)

    def entry(self) -> ledger.Axis:
        """Return its entry for where it stands now."""
        page = self._theme.page
        places = [ledger.Tick(mark.value_ns, self._scale.x(mark.value_ns)) for mark in self._marks]
        below = self.y_px + LINE_PX / 2
        return ledger.Axis(
            "main", "main", page.plot_x0_px, page.plot_x1_px, self.y_px, below + 1, self.y_px + TICK_PX - 1,
            places, self._theme.colour.axis,
        )  # fmt: skip

    def _lines(self) -> list[Mobject]:
        page, colour, y = self._theme.page, self._theme.colour.axis, self.y_px
        lines: list[Mobject] = [Stroke([(page.plot_x0_px, y), (page.plot_x1_px, y)], colour, LINE_PX)]
        for mark in self._marks:
            x = self._scale.x(mark.value_ns)
            lines.append(Stroke([(x, y), (x, y + TICK_PX)], colour, LINE_PX))
        return lines

    def _numbers(self) -> list[Mobject]:
        style = Lettering(self._theme).axis
        labels: list[Mobject] = []
        for mark in self._marks:
            left = self._scale.x(mark.value_ns) - measure([(mark.number, style)]).width_px / 2
            text = mark.number + mark.unit
            labels.append(Label(text, left, self.y_px + NUMBER_DROP_PX, style, text_id=f"tick-{mark.value_ns}"))
        return labels

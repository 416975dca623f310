"""A row of bars: the spans of a path to scale, with separators where they touch."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from scenes.grammar.bars import SEPARATOR_PX, PathBar, crowded, path_bars, separators
from scenes.grammar.scale import Scale
from scenes.grammar.stages import role, waits
from scenes.parts.facts import Facts
from scenes.render.marks import MarkInfo
from scenes.render.shapes import Box
from scenes.theme import Theme
from traces.spans import Span

HEAVY_EDGE_PX = 10.0


class Row:
    """Bars of one row of a picture; each fills the row's full height, so that only x carries meaning.

    Args:
        theme: Colours.
        facts: The request that the spans belong to.
        scale: The axis.
        name: The row's name in the ledger.
        y0_px, y1_px: The row's edges.
        axis: The axis's id.
    """

    def __init__(
        self, theme: Theme, facts: Facts, scale: Scale, name: str, y0_px: float, y1_px: float, axis: str = "main"
    ) -> None:
        self._theme = theme
        self._facts = facts
        self._scale = scale
        self._name = name
        self._axis = axis
        self.y0_px = y0_px
        self.y1_px = y1_px

    def bars(self, spans: Sequence[Span], cut_at_px: float = inf, *, grounded: bool = False) -> list[Box]:
        """Return the bars of spans; one that runs beyond ``cut_at_px`` ends there, and none starts behind it.

        With ``grounded``, a hatched bar gets the row's ground below it, for a row that lies on another bar.

        Decode steps that could not be told apart become one block, which also covers what lies between them.
        """
        steps = [span for span in spans if span.name == "decode"]
        if not crowded(steps, self._scale):
            bars = [bar for bar in path_bars(spans, self._scale) if bar.x0_px < cut_at_px]
            grounds = [self._ground(bar) for bar in bars if grounded and waits(bar.span)]
            return [*grounds, *(self._box(bar, cut_at_px) for bar in bars)]
        start_ns, end_ns = steps[0].start_ns, steps[-1].end_ns
        outside = [span for span in spans if span.end_ns <= start_ns or span.start_ns >= end_ns]
        block = Box(
            self._scale.x(start_ns), self.y0_px, self._scale.x(end_ns), self.y1_px, self._theme.role["decode"],
            mark=self._facts.mark("bar", "extent/decode", self._name, self._axis),
        )  # fmt: skip
        return [*self.bars(outside, cut_at_px, grounded=grounded), block]

    def separators(self, spans: Sequence[Span], cut_at_px: float = inf) -> list[Box]:
        """Return the separators between bars that touch, to be drawn over them."""
        boxes = []
        if crowded([span for span in spans if span.name == "decode"], self._scale):
            spans = [span for span in spans if span.name != "decode"]
        for line in separators(path_bars(spans, self._scale)):
            left = line.centre_px - SEPARATOR_PX / 2
            if left + SEPARATOR_PX > cut_at_px:
                continue
            after = line.after.span
            mark = MarkInfo(
                f"{self._name}/separator/{after.id}", "separator", after.id, self._facts.source, self._axis,
                after.start_ns, 0, readable=False,
            )  # fmt: skip
            colour = self._theme.colour.surface
            boxes.append(Box(left, self.y0_px, left + SEPARATOR_PX, self.y1_px, colour, mark=mark))
        return boxes

    def _ground(self, bar: PathBar) -> Box:
        return Box(bar.x0_px, self.y0_px, bar.x1_px, self.y1_px, self._theme.colour.surface)

    def _box(self, bar: PathBar, cut_at_px: float) -> Box:
        span = bar.span
        cut = bar.x1_px > cut_at_px
        right = min(bar.x1_px, cut_at_px)
        heavy = span.name == "prefill"
        return Box(
            bar.x0_px, self.y0_px, right, self.y1_px, self._theme.role.get(role(span), self._theme.colour.unnamed),
            pattern="wait" if waits(span) else "solid",
            heavy_left_px=HEAVY_EDGE_PX if heavy else 0.0,
            heavy_left=self._theme.role["prefill_edge"] if heavy else None,
            mark=self._facts.span_mark(span, self._name, self._axis, not bar.thin, cut),
        )  # fmt: skip

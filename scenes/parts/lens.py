"""The lens as drawn: a bracket on the bar, a wedge, and a frame in which the first stages stand to scale."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from manim import Animation, Mobject

from scenes import ledger
from scenes.grammar.dimension import CLEAR_PX, OUTSIDE_GAP_PX
from scenes.grammar.lens import Lens, head_spans
from scenes.grammar.stages import Stage, role, stage_name, stages, waits
from scenes.parts.facts import Facts, Piece, Quoted
from scenes.parts.lettering import Lettering, centred
from scenes.parts.row import Row
from scenes.render.animations import Appear
from scenes.render.labels import Label
from scenes.render.scene import group
from scenes.render.shapes import Box, Polygon, Stroke
from scenes.theme import Theme
from traces.wording import factor as factor_words
from traces.wording import stage as stage_words

FRAME_PX = 3.0
PAD_PX = 8.0
ROW_PITCH_PX, ROW_PX = 56.0, 52.0
BRACKET_PX = 12.0
FACTOR_GAP_PX = 40.0


class LensPicture:
    """A lens over the head of a request's path, with one row a stage.

    Args:
        theme: Colours and measures.
        facts: The request.
        lens: Window and scale.
        y0_px: Upper edge of what is seen through it.
        source_y_px: Upper edge of the bar that it magnifies.
    """

    def __init__(self, theme: Theme, facts: Facts, lens: Lens, y0_px: float, source_y_px: float) -> None:
        self._theme = theme
        self._facts = facts
        self._lens = lens
        self._lettering = Lettering(theme)
        self._x0, self._x1 = lens.scale.x0_px, lens.scale.x0_px + lens.width_px
        self._stages = self._seen()
        self._y0 = y0_px
        self._y1 = y0_px + 2 * PAD_PX + len(self._stages) * ROW_PITCH_PX - (ROW_PITCH_PX - ROW_PX)
        self._source_y = source_y_px

    def open(self, window_px: float, run_time: float) -> list[Animation]:
        """Return the animation that opens it over the first ``window_px`` of the plot."""
        return [
            Appear(group(*self._wedge(window_px), *self._frame(), *self._rows(), *self._factor()), run_time=run_time)
        ]

    def entry(self) -> ledger.Axis:
        """Return its axis: the ticks are its frame's edges, which stand just outside what is seen."""
        edges = (self._x0 - FRAME_PX / 2, self._x1 + FRAME_PX / 2)
        places = [ledger.Tick(round(self._lens.scale.ns(x - self._x0)), x) for x in edges]
        return ledger.Axis(
            "lens", "lens", self._x0, self._x1, (self._y0 + self._y1) / 2, self._y0 + PAD_PX, self._y1 - PAD_PX,
            places, self._theme.colour.text, self._lens.factor,
        )  # fmt: skip

    def _seen(self) -> list[Stage]:
        """Return the stages of the head, and the one that runs on behind it."""
        path = self._facts.subject.path
        head = head_spans(path)
        following = path[len(head) :]
        after = takewhile(lambda span: stage_name(span) == stage_name(following[0]) and span.kind == "wait", following)
        return stages([*head, *after])

    def _frame(self) -> list[Mobject]:
        colour = self._theme.colour
        outer = (self._x0 - FRAME_PX, self._y0 - FRAME_PX, self._x1 + FRAME_PX, self._y1 + FRAME_PX)
        ground = Box(self._x0, self._y0, self._x1, self._y1, colour.surface)
        return [ground, Box(*outer, colour.text, radius=8, pattern="outline", outline=colour.text, outline_px=FRAME_PX)]

    def _wedge(self, window_px: float) -> list[Mobject]:
        colour = self._theme.colour
        top, bottom = self._y1 + FRAME_PX, self._source_y - BRACKET_PX
        right = self._x0 + window_px
        bracket = [(self._x0, self._source_y), (self._x0, bottom), (right, bottom), (right, self._source_y)]
        return [
            Polygon([(self._x0, top), (self._x1, top), (right, bottom), (self._x0, bottom)], colour.surface),
            Stroke([(self._x0, top), (self._x0, bottom)], colour.axis, 2),
            Stroke([(self._x1, top), (right, bottom)], colour.axis, 2),
            Stroke(bracket, colour.text, 3),
        ]

    def _factor(self) -> list[Mobject]:
        x = self._x1 + FACTOR_GAP_PX
        lettering = self._lettering
        baseline = self._y0 + lettering.key.size_px * 0.78
        window = f"the first {stage_words(self._lens.window_ns)}"
        return [
            Label(factor_words(self._lens.factor), x, baseline, lettering.key, text_id="lens-factor"),
            Label(window, x, baseline + 64, lettering.value, text_id="lens-window"),
        ]

    def _rows(self) -> list[Mobject]:
        drawn: list[Mobject] = []
        for index, stage in enumerate(self._stages):
            top = self._y0 + PAD_PX + index * ROW_PITCH_PX
            row = Row(self._theme, self._facts, self._lens.scale, "lens", top, top + ROW_PX, "lens")
            bars = row.bars(stage.spans, cut_at_px=self._x1)
            drawn += [*bars, *row.separators(stage.spans, self._x1), self._label(stage, bars, top + ROW_PX / 2)]
        return drawn

    def _label(self, stage: Stage, bars: Sequence[Box], middle: float) -> Label:
        """Place a stage's label inside its widest bar, right of its bars, or left of them, by the first that fits."""
        first = stage.spans[0]
        pieces: list[Piece] = [(f"{stage.name} ", self._lettering.name), ("{0}", self._lettering.value)]
        quotes: list[Quoted] = [self._facts.sum_of(stage)]
        width = self._facts.width_px(pieces, quotes)
        x0, x1 = bars[0].edges[0], bars[-1].edges[2]
        inner_x0, _, inner_x1, _ = max((bar.edges for bar in bars), key=lambda edges: edges[2] - edges[0])
        inside = not waits(first) and width + 2 * CLEAR_PX <= inner_x1 - inner_x0
        if inside:
            left = (inner_x0 + inner_x1 - width) / 2
            pieces = [(text, self._lettering.on_fill(style)) for text, style in pieces]
        elif x1 + OUTSIDE_GAP_PX + width <= self._x1 - PAD_PX:
            left = x1 + OUTSIDE_GAP_PX
        else:
            left = max(self._x0 + PAD_PX, x0 - OUTSIDE_GAP_PX - width)
        behind = self._theme.role[role(first)] if inside else self._theme.colour.surface
        baseline = centred(middle, self._lettering.value.size_px)
        return self._facts.label(pieces, quotes, left, baseline, f"lens-{stage.name}", behind=behind)

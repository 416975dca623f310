"""The recap's middle: seven lanes that fill chapter by chapter, and the sum of what has a name."""

from __future__ import annotations

from dataclasses import dataclass

from manim import Mobject

from scenes.clips.hook_picture import BAR_Y0_PX, BAR_Y1_PX, HookPicture
from scenes.clips.recap_words import LaneWords
from scenes.grammar.stages import LANES, Stage, lane_of, model_lane_name, stages
from scenes.parts.lettering import centred
from scenes.parts.row import Row
from scenes.render.labels import Label
from scenes.render.scene import ClipScene, group
from scenes.render.shapes import Box
from traces.spans import Span

STRIP_Y0_PX = 168.0
LANE_Y0_PX, LANE_PX, LANE_PITCH_PX = 256.0, 56.0, 64.0
AXIS_Y_PX = 708.0
NAME_GAP_PX = 20.0

CHAPTERS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("client-gateway", ("client", "network", "gateway")),
    ("tokenizer-router", ("tokenizer", "router")),
    ("queue", ("queue",)),
    ("prefill", ("prefill",)),
    ("decode", ("decode",)),
    ("stream", ("sampler", "stream")),
)
"""The stages that get their colour at each click, in the order of the talk."""


@dataclass(frozen=True)
class Chapter:
    """What is told at one click."""

    name: str
    stages: tuple[Stage, ...]
    strip_bars: list[Box]
    lane_bars: list[Box]
    drops: list[tuple[Box, float]]
    """Each lane bar with the distance that it falls."""
    words: Mobject

    @property
    def replayed(self) -> bool:
        """Whether its bars grow in time; only decode is a rhythm."""
        return self.name == "decode"

    @property
    def extent_ns(self) -> tuple[int, int]:
        """From its first span's start to its last span's end."""
        spans = [span for stage in self.stages for span in stage.spans]
        return min(span.start_ns for span in spans), max(span.end_ns for span in spans)


class LaneBoard:
    """Lanes, the bar above them, and the chapters that fill both."""

    def __init__(self, picture: HookPicture) -> None:
        self._picture = picture
        self._theme = picture.theme
        self._path = picture.subject.path
        self.strip_dy_px = STRIP_Y0_PX - BAR_Y0_PX
        self.axis_y_px = AXIS_Y_PX
        height = BAR_Y1_PX - BAR_Y0_PX
        self._strip_row = Row(
            self._theme, picture.facts, picture.scale, "request", STRIP_Y0_PX, STRIP_Y0_PX + height
        )  # fmt: skip
        self.ground = self._lane_ground(STRIP_Y0_PX, STRIP_Y0_PX + height)
        self.lanes = group(*self._lanes())
        self.words = LaneWords(picture, self.lane_top_px, LANE_PX, AXIS_Y_PX)
        self.strip_separators = self._strip_row.separators(self._path)
        self.lane_separators = self._separators_in_lanes()
        self.chapters = self._chapters()

    def lane_top_px(self, lane: int) -> float:
        """Return the upper edge of a lane."""
        return LANE_Y0_PX + lane * LANE_PITCH_PX

    def open(self, scene: ClipScene) -> None:
        """Break the grey bar at the edges of its spans: from here on it is only the ground of its pieces."""
        bar = self._picture.bar
        if bar.mark is None:
            raise ValueError("the grey bar is bound to the request")
        bar.mark = self._picture.facts.mark("bar", "e2e", "whole", readable=False)
        scene.add(*self.strip_separators, *self.lane_separators)

    def over(self) -> list[Box]:
        """Return what stays above all bars: the separators."""
        return [*self.strip_separators, *self.lane_separators]

    def strip(self) -> list[Mobject]:
        """Return the bar in colour, from back to front."""
        bars = [bar for chapter in self.chapters for bar in chapter.strip_bars]
        return [self.ground, self._picture.bar, *bars, *self.strip_separators]

    def below_strip(self) -> list[Mobject]:
        """Return everything under the bar that belongs to the lanes."""
        bars = [bar for chapter in self.chapters for bar in chapter.lane_bars]
        return [self.lanes, *bars, *self.lane_separators, *(chapter.words for chapter in self.chapters)]

    def said(self, chapter: Chapter) -> str:
        """Return a chapter in words."""
        facts = self._picture.facts
        parts = [f"{stage.name} {facts.words(facts.sum_of(stage))}" for stage in chapter.stages]
        return f"Of {facts.words(('e2e', 'total'))}: {', '.join(parts)}."

    def remainder_said(self) -> str:
        """Return in words what has no name."""
        facts = self._picture.facts
        whole, rest = facts.words(("e2e", "total")), facts.words(("names/unattributed", "stage"))
        return f"Every stage of {whole} is placed; {rest} stay unexplained."

    def _chapters(self) -> list[Chapter]:
        found = {stage.name: stage for stage in stages(self._path)}
        chapters = []
        for name, stage_names in CHAPTERS:
            told = tuple(found[stage] for stage in stage_names if stage in found)
            if told:
                spans = sorted((span for stage in told for span in stage.spans), key=lambda span: span.start_ns)
                lane_bars, drops = self._lane_bars(spans)
                words = group(*self.words.lane_words(name, told))
                chapters.append(
                    Chapter(name, told, self._strip_row.bars(spans, grounded=True), lane_bars, drops, words)
                )
        return chapters

    def _lane_bars(self, spans: list[Span]) -> tuple[list[Box], list[tuple[Box, float]]]:
        boxes, drops = [], []
        for lane in range(len(LANES)):
            own = [span for span in spans if lane_of(span) == lane]
            row = self._lane_row(lane)
            for box in row.bars(own) if own else []:
                boxes.append(box)
                drops.append((box, row.y0_px - STRIP_Y0_PX - (BAR_Y1_PX - BAR_Y0_PX - LANE_PX) / 2))
        return boxes, drops

    def _separators_in_lanes(self) -> list[Box]:
        return [
            line
            for lane in range(len(LANES))
            for line in self._lane_row(lane).separators([span for span in self._path if lane_of(span) == lane])
        ]

    def _lane_row(self, lane: int) -> Row:
        top = self.lane_top_px(lane)
        return Row(self._theme, self._picture.facts, self._picture.scale, "lane", top, top + LANE_PX)

    def _lanes(self) -> list[Mobject]:
        style = self._picture.lettering.value
        drawn: list[Mobject] = []
        for lane, (name, _) in enumerate(LANES):
            top = self.lane_top_px(lane)
            words = model_lane_name(self._path) if name == "Model" else name
            x = self._theme.page.plot_x0_px - NAME_GAP_PX
            baseline = centred(top + LANE_PX / 2, style.size_px)
            drawn.append(self._lane_ground(top, top + LANE_PX))
            drawn.append(Label(words, x, baseline, style, "end", text_id=f"lane-{lane}"))
        return drawn

    def _lane_ground(self, y0: float, y1: float) -> Box:
        page = self._theme.page
        return Box(page.plot_x0_px, y0, page.plot_x1_px, y1, self._theme.colour.surface, radius=4)

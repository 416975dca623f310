"""What the recap says: times beside the bars in their lanes, and below them the sum so far."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from manim import Mobject

from scenes.clips.hook_picture import HookPicture
from scenes.grammar.bars import THIN_PX, path_bars
from scenes.grammar.dimension import CLEAR_PX, place_label
from scenes.grammar.stages import Stage, lane_of, role, waits
from scenes.parts.facts import Piece, Quoted
from scenes.parts.lettering import centred
from scenes.parts.measures import CARET_GAP_PX, CARET_PX, caret
from scenes.render.labels import Label
from scenes.render.scene import group
from scenes.render.shapes import Stroke
from traces.spans import Span

SUM_BASELINE_PX = 900.0
WORD_GAP_PX = 24.0
CARET_ROOM_PX = CARET_GAP_PX + CARET_PX + 8.0
LABELS_PX = 320.0
"""What the labels of the first, thin stages take at the beginning of their lanes."""
MODEL_LANE = 5
WAITING = ("submit", "queue")
"""The spans of the queue's stage in which the request waits for its first step; the rest is the scheduler's work."""


class LaneWords:
    """Builds the texts of the lanes.

    Args:
        picture: The request and its scale.
        lane_top_px: Upper edge of a lane, by its index.
        lane_px: Height of a lane.
        bottom_px: The axis.
    """

    def __init__(
        self, picture: HookPicture, lane_top_px: Callable[[int], float], lane_px: float, bottom_px: float
    ) -> None:
        self._picture = picture
        self._facts = picture.facts
        self._lettering = picture.lettering
        self._lane_top_px, self._lane_px = lane_top_px, lane_px
        self._bottom_px = bottom_px
        self._told: list[str] = []

    def lane_words(self, chapter: str, told: Sequence[Stage]) -> list[Mobject]:
        """Return the texts that a chapter leaves in the lanes."""
        name, value = self._lettering.name, self._lettering.value
        spans = [span for stage in told for span in stage.spans]
        if chapter == "decode":
            return []
        if chapter == "client-gateway":
            head = [span for span in spans if lane_of(span) == 0 and span.name != "response"]
            tail = [span for span in spans if span.name == "response"]
            wire = "+".join(dict.fromkeys(span.name for span in head if span.component == "network"))
            own = "+".join(dict.fromkeys(span.name for span in head if span.component == "client"))
            pieces = [("client ", name), ("{0}", value), ("  network ", name), ("{1}", value)]
            quotes = [(f"names/{own}", "stage"), (f"names/{wire}", "stage")]
            if not own or not wire:
                pieces, quotes = [("{0}", value)], quotes[:1] if own else quotes[1:]
            words = self._note(head, pieces, quotes) + self._note(tail, [("{0}", value)], [("names/response", "stage")])
            return words + self._simple_notes([stage for stage in told if stage.name == "gateway"])
        if chapter == "queue":
            waiting = [span for span in spans if span.name in WAITING]
            return self._note(waiting, [("{0}", value)], [self._waiting]) if self._queue_in_lane else []
        if chapter == "prefill":
            words = self._note(spans, *self._prefill) if self._prefill_in_lane else []
            return [*words, *self._first_token()]
        if chapter == "stream":
            return [self._caret(stage.spans, stage) for stage in told]
        return self._simple_notes(told)

    def sum_words(self, told: Sequence[Stage], chapter: str) -> Mobject:
        """Return the sum of what has a name so far, and what a chapter says that has no room in its lane."""
        self._told += [name for stage in told for name in stage.names]
        value, key = self._lettering.value, self._lettering.key
        page, facts = self._picture.theme.page, self._facts
        text = facts.label(
            [("placed  ", value), ("{0}", key), ("  of {1}", value)],
            [(f"names/{'+'.join(self._told)}", "total"), ("e2e", "total")],
            page.plot_x0_px, SUM_BASELINE_PX, f"placed-{chapter}",
        )  # fmt: skip
        beside = self._beside(told, chapter)
        return group(text, *beside)

    def pace(self) -> Mobject:
        """Return the factor of a replay, for as long as it plays."""
        right = self._picture.theme.page.right_px
        return Label(self._picture.replay.words, right, SUM_BASELINE_PX, self._lettering.value, "end", text_id="pace")

    def remainder(self) -> Mobject:
        """Return the sum at the end and what is left without a name."""
        value, name = self._lettering.value, self._lettering.name
        unexplained = self._facts.label(
            [("unexplained  ", name), ("{0}", value)], [("names/unattributed", "stage")],
            self._picture.theme.page.right_px, SUM_BASELINE_PX, "unexplained", "end",
        )  # fmt: skip
        return group(self.sum_words([], "all"), unexplained)

    def _beside(self, told: Sequence[Stage], chapter: str) -> list[Mobject]:
        name, value = self._lettering.name, self._lettering.value
        pieces: list[Piece] = []
        quotes: list[Quoted] = []
        if chapter == "decode":
            pieces, quotes = (
                [("decode  ", name), ("{0} × {1}", value)], [("count/decode", "count"), ("mean/decode", "per_token")]
            )  # fmt: skip
        elif chapter == "queue":
            own = [each for stage in told for each in stage.names if each not in WAITING]
            pieces, quotes = [("scheduler  ", name), ("{0}", value)], [(f"names/{'+'.join(own)}", "stage")]
            if not self._queue_in_lane:
                pieces = [("queue  ", name), ("{1}", value), ("  ", value), *pieces]
                quotes.append(self._waiting)
        elif chapter == "prefill":
            if not self._prefill_in_lane:
                pieces, quotes = self._prefill
            if not self._first_token_in_lane:
                pieces = [*pieces, ("  first token  ", name), (f"{{{len(quotes)}}}", value)]
                quotes = [*quotes, ("ttft", "total")]
        elif chapter == "stream":
            for index, stage in enumerate(told):
                pieces += [(f"{'  ' if index else ''}{stage.name}  ", name), (f"{{{index}}}", value)]
                quotes.append(self._facts.sum_of(stage))
        if not pieces:
            return []
        right = self._picture.theme.page.right_px
        return [self._facts.label(pieces, quotes, right, SUM_BASELINE_PX, f"beside-{chapter}", "end")]

    def _simple_notes(self, told: Sequence[Stage]) -> list[Mobject]:
        value = self._lettering.value
        return [
            part for stage in told for part in self._note(stage.spans, [("{0}", value)], [self._facts.sum_of(stage)])
        ]

    @property
    def _waiting(self) -> Quoted:
        names = dict.fromkeys(span.name for span in self._facts.subject.path if span.name in WAITING)
        return f"names/{'+'.join(names)}", "stage"

    @property
    def _prefill(self) -> tuple[list[Piece], list[Quoted]]:
        label: list[Piece] = [("prefill  ", self._lettering.name), ("{0}", self._lettering.value)]
        return label, [("names/prefill", "stage")]

    @property
    def _prefill_in_lane(self) -> bool:
        """Whether the bar holds its label; beside it stand the first token's line and the decode steps."""
        spans = [span for span in self._facts.subject.path if span.name == "prefill"]
        room_px = self._picture.scale.width(spans[0].duration_ns) if len(spans) == 1 else 0.0
        return self._facts.width_px(*self._prefill) + 2 * CLEAR_PX <= room_px

    @property
    def _queue_in_lane(self) -> bool:
        """Whether the wait's label fits its lane before the scheduler's first sliver."""
        path, scale = self._facts.subject.path, self._picture.scale
        waiting = [span for span in path if span.name in WAITING]
        later = (
            [span for span in path if span.component == "queue" and span.start_ns > waiting[-1].end_ns]
            if waiting
            else []
        )
        if not later:
            return bool(waiting)
        room = scale.width(later[0].start_ns - waiting[-1].end_ns)
        return self._facts.width_px([("{0}", self._lettering.value)], [self._waiting]) + 2 * WORD_GAP_PX <= room

    @property
    def _first_token_in_lane(self) -> bool:
        """Whether the first token's line stands clear of the labels at the lanes' beginning."""
        return self._picture.scale.width(self._facts.value("ttft")) > LABELS_PX

    def _first_token(self) -> list[Mobject]:
        """Return the line at the first token, and its label in the gateway's lane."""
        facts, page = self._facts, self._picture.theme.page
        x = self._picture.scale.x(facts.value("ttft"))
        lane = 1 if self._first_token_in_lane else MODEL_LANE
        line = Stroke(
            [(x, self._lane_top_px(lane)), (x, self._bottom_px)], self._picture.theme.colour.white, 4,
            mark=facts.mark("hairline", "token/0", "lanes"),
        )  # fmt: skip
        if lane != 1:
            return [line]
        pieces: list[Piece] = [("first token  ", self._lettering.name), ("{0}", self._lettering.value)]
        quotes: list[Quoted] = [("ttft", "total")]
        right = x + WORD_GAP_PX + facts.width_px(pieces, quotes) <= page.right_px
        baseline = centred(self._middle_px(1), self._lettering.value.size_px)
        label = facts.label(
            pieces, quotes, x + WORD_GAP_PX if right else x - WORD_GAP_PX, baseline, "lanes-first-token",
            "start" if right else "end", self._picture.theme.colour.surface,
        )  # fmt: skip
        return [line, label]

    def _middle_px(self, lane: int) -> float:
        return self._lane_top_px(lane) + self._lane_px / 2

    def _caret(self, spans: Sequence[Span], stage: Stage) -> Mobject:
        bars = path_bars(spans, self._picture.scale)
        lane = lane_of(spans[0]) or 0
        name, _ = self._facts.sum_of(stage)
        return caret(
            self._picture.theme, bars[0].x0_px, self._middle_px(lane), self._facts, name, points_left=False
        )  # fmt: skip

    def _note(self, spans: Sequence[Span], pieces: list[Piece], quotes: list[Quoted]) -> list[Mobject]:
        """Place a text by its bars: inside if one is wide enough, else right or left of them, with a caret if thin."""
        if not spans:
            return []
        theme, page = self._picture.theme, self._picture.theme.page
        bars = path_bars(spans, self._picture.scale)
        x0, x1 = bars[0].x0_px, bars[-1].x1_px
        thin = x1 - x0 < THIN_PX * len(bars) or all(bar.thin for bar in bars)
        room = CARET_ROOM_PX if thin else 0.0
        lane = lane_of(spans[0]) or 0
        middle = self._middle_px(lane)
        width = self._facts.width_px(pieces, quotes)
        # Words never lie over a hatch: a wait counts as too narrow for its label.
        left_edge = x1 if waits(spans[0]) else x0
        place, left = place_label(left_edge, x1, width + room, page.plot_x0_px, page.right_px - CLEAR_PX)
        names = quotes[0][0]
        inside = place == "inside"
        behind = theme.role[role(spans[0])] if inside else theme.colour.surface
        if inside:
            pieces = [(text, self._lettering.on_fill(style)) for text, style in pieces]
        parts: list[Mobject] = []
        if thin:
            right = place == "right"
            parts.append(caret(theme, x1 if right else x0, middle, self._facts, names, points_left=right))
            left = x1 + room if right else x0 - room - width
        baseline = centred(middle, self._lettering.value.size_px)
        parts.append(self._facts.label(pieces, quotes, left, baseline, f"lane-{names}", behind=behind))
        return parts

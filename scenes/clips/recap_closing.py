"""The recap's last picture: the bar in colour, a lens on its beginning, and the three lengths that sum it up."""

from __future__ import annotations

from manim import Animation, Mobject

from scenes.clips.hook_picture import HookPicture
from scenes.clips.recap_lanes import STRIP_Y0_PX
from scenes.grammar.dimension import CLEAR_PX, STUB_MIN_PX
from scenes.grammar.lens import open_lens
from scenes.grammar.stages import stages
from scenes.parts.facts import Piece, Quoted
from scenes.parts.lens import LensPicture
from scenes.parts.lettering import centred
from scenes.parts.measures import dimension_line
from scenes.render.labels import Label
from scenes.render.scene import group

STRIP_PX = 64.0
BAR_Y0_PX = 632.0
NAMES_BASELINE_PX = 742.0
FIRST_ROW_PX, SECOND_ROW_PX = 790.0, 846.0
AXIS_Y_PX = 888.0
LENS_Y0_PX, LENS_WIDTH_PX = 224.0, 960.0
LIST_X_PX = 1384.0
LIST_BASELINES_PX = (472.0, 528.0, 584.0)


class Closing:
    """What the last click adds."""

    def __init__(self, picture: HookPicture) -> None:
        self._picture = picture
        self._facts = picture.facts
        self._lettering = picture.lettering
        self.strip_dy_px = BAR_Y0_PX - STRIP_Y0_PX
        self.axis_y_px = AXIS_Y_PX
        found = open_lens(picture.subject.path, picture.scale, picture.scale.x0_px, LENS_WIDTH_PX)
        self._window_px = picture.scale.width(found.window_ns) if found else 0.0
        self.lens = LensPicture(picture.theme, self._facts, found, LENS_Y0_PX, BAR_Y0_PX) if found else None
        self._stages = {stage.name: stage for stage in stages(picture.subject.path)}
        self.lengths = group(*self._lengths(), *self._names(), *self._list())

    def open_lens(self, run_time: float) -> list[Animation]:
        """Return the animations that open the lens, if there is something to magnify."""
        return self.lens.open(self._window_px, run_time) if self.lens else []

    def alt(self) -> str:
        """Return the last picture in words."""
        parts = [f"{name} {self._facts.words(self._facts.sum_of(stage))}" for name, stage in self._stages.items()]
        return (
            f"{self._facts.words(('e2e', 'total'))}: {', '.join(parts)}; "
            f"unexplained {self._facts.words(('names/unattributed', 'stage'))}. "
            f"First token after {self._facts.words(('ttft', 'total'))}."
        )

    def _lengths(self) -> list[Mobject]:
        """Return TTFT and what follows end to end, and E2E below them: the picture is the sum."""
        name, value = self._lettering.name, self._lettering.value
        if self._picture.subject.request.num_output_tokens < 2:
            return [self._length("e2e", SECOND_ROW_PX, [("E2E = TTFT = ", value), ("{0}", name)], [("e2e", "total")])]
        whole: list[Piece] = [("E2E", name), (" = TTFT + (N − 1) × TPOT = ", value), ("{0}", name)]
        return [
            self._length("ttft", FIRST_ROW_PX, [("TTFT  ", name), ("{0}", value)], [("ttft", "total")]),
            self._rest(),
            self._length("e2e", SECOND_ROW_PX, whole, [("e2e", "total")]),
        ]

    def _rest(self) -> Mobject:
        """Return the length after the first token, with the longest of its labels that fits into it."""
        name, value = self._lettering.name, self._lettering.value
        product: list[Piece] = [("{0} × ", value), ("{1}", name)]
        labels: list[list[Piece]] = [
            [("(N − 1) × ", value), ("TPOT", name), (" = ", value), *product],
            [("TPOT  ", name), *product],
            product,
        ]
        quotes: list[Quoted] = [("intervals", "count"), ("tpot", "per_token")]
        room_px = self._picture.scale.width(self._facts.value("after_first")) - 2 * (CLEAR_PX + STUB_MIN_PX)
        fitting = [pieces for pieces in labels if self._facts.width_px(pieces, quotes) <= room_px]
        return self._length("after_first", FIRST_ROW_PX, fitting[0] if fitting else product, quotes, follows=True)

    def _length(
        self, metric: str, middle_y: float, pieces: list[Piece], quotes: list[Quoted], *, follows: bool = False
    ) -> Mobject:
        return dimension_line(
            self._picture.theme, self._facts, self._picture.scale, metric, middle_y, pieces, quotes, follows=follows
        )

    def _names(self) -> list[Mobject]:
        """Return the names of the stages that can be seen on the bar: prefill inside it, decode below."""
        drawn: list[Mobject] = []
        if "prefill" in self._stages:
            drawn.append(self._name("prefill", "{0}", [self._facts.sum_of(self._stages["prefill"])]))
        if "decode" in self._stages:
            drawn.append(self._name("decode", "{0} × {1}", [("count/decode", "count"), ("mean/decode", "per_token")]))
        return drawn

    def _name(self, stage: str, words: str, quotes: list[Quoted]) -> Label:
        """Return a stage's name, inside its bar if that is one piece and wide enough, else below it."""
        scale, theme, spans = self._picture.scale, self._picture.theme, self._stages[stage].spans
        x0, x1 = scale.x(spans[0].start_ns), scale.x(spans[-1].end_ns)
        pieces: list[Piece] = [(f"{stage}  ", self._lettering.name), (words, self._lettering.value)]
        width = self._facts.width_px(pieces, quotes)
        inside = len(spans) == 1 and width + 2 * CLEAR_PX <= x1 - x0
        left = min(max((x0 + x1 - width) / 2, theme.page.plot_x0_px), theme.page.right_px - width)
        if not inside:
            return self._facts.label(pieces, quotes, left, NAMES_BASELINE_PX, f"bar-{stage}")
        pieces = [(text, self._lettering.on_fill(style)) for text, style in pieces]
        baseline = centred(BAR_Y0_PX + STRIP_PX / 2, self._lettering.name.size_px)
        return self._facts.label(pieces, quotes, left, baseline, f"bar-{stage}", behind=theme.role[stage])

    def _list(self) -> list[Mobject]:
        """Return the stages that have no place elsewhere, beside the lens."""
        drawn: list[Mobject] = []
        rest = [stage for name, stage in self._stages.items() if name in ("sampler", "stream", "unexplained")]
        for stage, baseline in zip(rest, LIST_BASELINES_PX, strict=False):
            pieces: list[Piece] = [(f"{stage.name}  ", self._lettering.name), ("{0}", self._lettering.value)]
            drawn.append(
                self._facts.label(pieces, [self._facts.sum_of(stage)], LIST_X_PX, baseline, f"list-{stage.name}")
            )
        return drawn

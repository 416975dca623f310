"""The picture that the hook ends on and the recap begins with: one grey bar, and when its first token came."""

from __future__ import annotations

from manim import Mobject

from scenes.grammar.replay import Replay, choose_replay
from scenes.grammar.scale import Scale, round_scale
from scenes.parts import page
from scenes.parts.axis import TimeAxis
from scenes.parts.facts import Facts
from scenes.parts.lettering import Lettering
from scenes.render.labels import Digits, Label
from scenes.render.metrics import measure
from scenes.render.scene import ClipScene, group
from scenes.render.shapes import Box, Stroke
from traces.wording import clock as clock_words

CLOCK_BASELINE_PX = 540.0
CLOCK_INSET_PX = 22.0
"""A digit stands in the middle of its cell; this much further left its ink begins at the plot's edge."""
ROW_BASELINE_PX = 614.0
BAR_Y0_PX, BAR_Y1_PX = 640.0, 704.0
HAIRLINE_Y0_PX = 580.0
AXIS_Y_PX = 732.0
CASE_BASELINE_PX = 872.0
GAP_PX = 16.0


class HookPicture:
    """Everything on the hook's page, drawn from E23 arm A; the clip decides what is shown when."""

    def __init__(self, scene: ClipScene) -> None:
        self.scene = scene
        self.theme = scene.theme
        self.lettering = Lettering(scene.theme)
        self.subject = scene.source("A", "e23", "A")
        self.facts = Facts(self.subject, "A")
        self.e2e_ns = round(self.facts.value("e2e"))
        self.scale: Scale = round_scale(self.e2e_ns)
        self.replay: Replay = choose_replay(self.e2e_ns, scene.theme.motion.fps)
        self.axis = TimeAxis(self.theme, self.scale, self.e2e_ns, AXIS_Y_PX)
        self.packet = page.packet(self.theme, self.subject, BAR_Y0_PX)
        self.footer = page.footer(self.theme, scene.trace_set, self.subject, question=0)
        self.bar = Box(
            self.scale.x(0), BAR_Y0_PX, self.scale.x(self.e2e_ns), BAR_Y1_PX, self.theme.colour.unnamed,
            mark=self.facts.mark("bar", "e2e", "request"),
        )  # fmt: skip
        self.clock = self._clock()
        self.unit = self._unit()
        self.speed = Label(
            self.replay.words, self.theme.page.right_px, CLOCK_BASELINE_PX,
            self.lettering.axis, "end", text_id="speed",
        )  # fmt: skip
        self.case = self._case()
        self.first_token = self._first_token()
        self.question = self.title("grey-bar")

    def title(self, slide_id: str) -> Mobject:
        """Return the title of a slide."""
        return page.title(self.theme, slide_id, self.scene.job.titles[slide_id])

    def frame(self) -> list[Mobject]:
        """Return what is there from first to last: axis, packet, footer, and the case."""
        return [self.axis.picture, self.packet, self.footer, self.case]

    def finished(self) -> list[Mobject]:
        """Return the page as the hook ends, set at once."""
        self.stop_clock()
        return [*self.frame(), self.clock, self.unit, self.speed, self.bar, self.first_token, self.question]

    def stop_clock(self) -> None:
        """Let the clock stand at the end-to-end time; from here on it states a measurement."""
        self.clock.set_text(clock_words(self.e2e_ns))
        self.clock.claim = self.facts.claim(["{0}"], [("e2e", "clock")], "clock")

    def alt(self) -> str:
        """Return what the last picture says, in words."""
        facts = self.facts
        return (
            f"One request on a time axis: {facts.words(('e2e', 'total'))} long; the first token arrived after "
            f"{facts.words(('ttft', 'total'))}. Nothing else is known yet."
        )

    def _clock(self) -> Digits:
        x = self.scale.x0_px - CLOCK_INSET_PX
        return Digits(clock_words(0), x, CLOCK_BASELINE_PX, self.lettering.clock, text_id="clock")

    def _unit(self) -> Label:
        final = Digits(clock_words(self.e2e_ns), 0, 0, self.lettering.clock)
        style = self.lettering.unit
        return Label("s", self.scale.x0_px + final.width_px, CLOCK_BASELINE_PX, style, text_id="clock-unit")

    def _case(self) -> Label:
        words = f"{self.subject.arm.exemplar.rule} · {self.subject.arm.label}"
        return Label(words, self.scale.x0_px, CASE_BASELINE_PX, self.lettering.aside, text_id="case")

    def _first_token(self) -> Mobject:
        """Return the hairline with its label, and "screen empty" before it where there is room."""
        facts, right_px = self.facts, self.theme.page.right_px
        x = self.scale.x(facts.value("ttft"))
        pieces = [("first token  ", self.lettering.name), ("{0}", self.lettering.value)]
        quotes = [("ttft", "total")]
        line = Stroke(
            [(x, HAIRLINE_Y0_PX), (x, AXIS_Y_PX)], self.theme.colour.white, 4,
            mark=facts.mark("hairline", "token/0", "hairline"),
        )  # fmt: skip
        width = facts.width_px(pieces, quotes)
        fits_right = x + GAP_PX + width <= right_px
        label = facts.label(
            pieces, quotes, x + GAP_PX if fits_right else x - GAP_PX, ROW_BASELINE_PX, "first-token",
            "start" if fits_right else "end",
        )  # fmt: skip
        empty = "screen empty"
        parts: list[Mobject] = [line, label]
        if fits_right and x - GAP_PX - measure([(empty, self.lettering.value)]).width_px >= self.scale.x0_px:
            parts.append(Label(empty, x - GAP_PX, ROW_BASELINE_PX, self.lettering.value, "end", text_id="screen-empty"))
        return group(*parts)

"""A0, the grey bar: a request grows as long as its user waited, and nothing else is known yet."""

from __future__ import annotations

from scenes.clips.hook_picture import HookPicture
from scenes.parts.replay_clock import replay
from scenes.render.animations import Appear, Fade
from scenes.render.scene import ClipScene
from scenes.theme import Theme


class GreyBar(ClipScene):
    """An empty axis; the bar at its true pace; the instant of the first token."""

    theme: Theme

    def construct(self) -> None:
        """Draw the clip."""
        picture = HookPicture(self)
        opening = picture.title("call")
        fade_s = self.theme.motion.fade_s

        self.add(*picture.frame(), picture.clock, picture.unit, picture.speed, opening)
        self.axis(picture.axis.entry())
        self.pause("waiting", alt="A clock at zero over an empty time axis.", caption="A request is sent.")

        replay(self, picture.replay, picture.scale, [picture.bar], 0, picture.e2e_ns, picture.clock)
        picture.stop_clock()
        self.play(Fade(opening, 0, run_time=fade_s), Appear(picture.question, run_time=fade_s))
        self.remove(opening)
        words = picture.facts.words(("e2e", "total"))
        self.pause("whole", alt=f"The bar is {words} long.", caption=f"The answer is complete after {words}.")

        self.play(Appear(picture.first_token, run_time=fade_s))
        first = picture.facts.words(("ttft", "total"))
        self.pause("first-token", alt=picture.alt(), caption=f"The first token came after {first}.")

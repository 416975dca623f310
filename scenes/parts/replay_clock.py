"""Playing a stretch of the trace: bars and clock follow one line that moves at the printed factor."""

from __future__ import annotations

from collections.abc import Sequence

from manim import Animation, Mobject

from scenes.grammar.replay import Replay
from scenes.grammar.scale import Scale
from scenes.render.animations import Count, Fade, Sweep
from scenes.render.labels import Digits
from scenes.render.scene import ClipScene, group
from scenes.render.shapes import Box
from traces.wording import clock as clock_words


class Clock(Count):
    """A count at the replay's pace that stops where the trace does, within the last frame."""

    def __init__(self, digits: Digits, from_ns: float, to_ns: float, stop_ns: float, run_time: float) -> None:
        super().__init__(digits, from_ns, to_ns, "clock", run_time)
        self.stop_ns = stop_ns

    def show(self, share: float) -> None:
        """Say the time of the trace."""
        self.digits.set_text(clock_words(min(self.stop_ns, self.from_ns + (self.to_ns - self.from_ns) * share)))


def replay(
    scene: ClipScene,
    pace: Replay,
    scale: Scale,
    boxes: list[Box],
    from_ns: float,
    to_ns: float,
    clock: Digits | None = None,
    over: Sequence[Mobject] = (),
) -> None:
    """Play a stretch of the trace.

    Args:
        scene: The clip.
        pace: The factor.
        scale: The axis.
        boxes: Bars with their final edges, none of which starts before ``from_ns``.
        from_ns: Start of the stretch.
        to_ns: Its end; the last frame shows it.
        clock: Digits that run along.
        over: What is drawn above the bars, not yet on the page.
    """
    frames = pace.num_frames(to_ns - from_ns)
    # The line runs on to the end of the last frame, so that every frame before it stands at its exact time.
    line_ns = from_ns + frames * pace.trace_ns_per_frame
    run_time = frames / scene.theme.motion.fps
    animations: list[Animation] = [Sweep(boxes, scale.x(from_ns), scale.x(line_ns), run_time)]
    if clock is not None:
        animations.append(Clock(clock, from_ns, line_ns, to_ns, run_time))
    if over:
        animations.append(Fade(group(*over), 1, run_time=run_time))
    scene.play(*animations)

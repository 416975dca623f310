"""Animations of what is drawn directly. Whatever means time moves linearly; the rest eases."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from manim import Animation, Mobject, Scene, linear, smooth

from scenes.render.drawn import Drawn
from scenes.render.labels import Digits
from scenes.render.shapes import Box
from traces.wording import FORMATS

RateFunction = Callable[[float], float]

_ROUNDING = 1e-9


@dataclass(frozen=True)
class EdgeMotion:
    """A right edge that moves linearly during a play, whose frame 0 shows the state before it."""

    box: Box
    first_frame: float
    """When the edge stands at ``from_px``; a fraction where it starts between two frames."""
    last_frame: float
    from_px: float
    to_px: float


class _Direct(Animation):
    """Base: remembers the start by values instead of copying mobjects."""

    def __init__(self, mobject: Mobject, run_time: float, rate_func: RateFunction) -> None:
        super().__init__(mobject, run_time=run_time, rate_func=rate_func, introducer=True)

    def create_starting_mobject(self) -> Mobject:
        self.remember()
        return self.mobject

    def interpolate_mobject(self, alpha: float) -> None:
        done = alpha > 1 - _ROUNDING
        self.show(1.0 if done else self.rate_func(alpha))

    def _setup_scene(self, scene: Scene) -> None:
        """Put on the page what is not there yet, without moving what is there to the front."""
        on_page = set(scene.get_mobject_family_members())
        if on_page.isdisjoint(self.mobject.get_family()):
            scene.add(self.mobject)
        else:
            scene.add(*(part for part in self.mobject.submobjects if part not in on_page))

    def remember(self) -> None:
        """Note the state that it starts from."""

    def show(self, share: float) -> None:
        """Put the mobject at that share of its way; 1 is exactly its end."""
        raise NotImplementedError


class LinearInTime(_Direct):
    """Base of growth in time, which refuses every other rate."""

    boxes: list[Box]

    def __init__(self, mobject: Mobject, run_time: float, rate_func: RateFunction = linear) -> None:
        super().__init__(mobject, run_time, rate_func)
        self.require_linear(set())

    def require_linear(self, on_page: set[Drawn]) -> None:
        """Check the rate, and that no box on the page would jump to where it starts to grow.

        Raises:
            ValueError: One of the two.
        """
        if self.rate_func is not linear or self.reverse_rate_function:
            raise ValueError("growth in time is linear; it takes no other rate function")
        jumping = [box for box in self.boxes if box in on_page and box.edges[2] != self.start_of(box)]
        if jumping:
            raise ValueError(f"a box on the page ends at {jumping[0].edges[2]:g} px, not where it starts to grow")

    def start_of(self, box: Box) -> float:
        """Return where a box's right edge stands when it starts to grow."""
        raise NotImplementedError

    def motions(self, frames: int) -> list[EdgeMotion]:
        """Return how its edges move if it takes that many frames."""
        raise NotImplementedError


class Grow(LinearInTime):
    """Move a box's right edge to ``to_x``, linearly."""

    def __init__(self, box: Box, to_x: float, run_time: float, rate_func: RateFunction = linear) -> None:
        self.boxes = [box]
        self.box, self.from_x, self.to_x = box, box.edges[2], to_x
        super().__init__(box, run_time, rate_func)
        if to_x < box.edges[0]:
            raise ValueError(f"box that starts at {box.edges[0]} cannot grow to {to_x}")

    def start_of(self, box: Box) -> float:
        """It grows from where it stands."""
        return box.edges[2]

    def remember(self) -> None:
        """Note the right edge."""
        self.from_x = self.box.edges[2]

    def show(self, share: float) -> None:
        """Place the right edge."""
        _set_right(self.box, _mix(self.from_x, self.to_x, share))

    def motions(self, frames: int) -> list[EdgeMotion]:
        """Return one motion over the whole play."""
        return [EdgeMotion(self.box, 0, frames, self.box.edges[2], self.to_x)]


class Sweep(LinearInTime):
    """Move a line over the page, linearly, and let every box that it crosses grow with it.

    A replay: the line stands for time, and a box shows the part of its span that has passed. The boxes are given
    with their final edges and take the width 0 when the sweep begins; those to the right of ``to_x`` stay empty.

    Args:
        boxes: The boxes, none of which starts left of ``from_x``.
        from_x, to_x: The line's start and end, in px of the page.
        run_time: Seconds.
    """

    def __init__(
        self, boxes: list[Box], from_x: float, to_x: float, run_time: float, rate_func: RateFunction = linear
    ) -> None:
        if to_x <= from_x:
            raise ValueError(f"a sweep from {from_x} to {to_x} does not move to the right")
        early = [box.edges[0] for box in boxes if box.edges[0] < from_x]
        if early:
            raise ValueError(f"a box starts at {early[0]}, left of the sweep's start {from_x}")
        self.boxes, self.from_x, self.to_x = boxes, from_x, to_x
        self.ends = [box.edges[2] for box in boxes]
        super().__init__(Mobject().add(*boxes), run_time, rate_func)

    def start_of(self, box: Box) -> float:
        """It grows from its left edge."""
        return box.edges[0]

    def show(self, share: float) -> None:
        """Place the line, and each right edge at the line or at one of the box's own ends."""
        line_x = _mix(self.from_x, self.to_x, share)
        for box, end in zip(self.boxes, self.ends, strict=True):
            _set_right(box, min(max(line_x, box.edges[0]), end))

    def motions(self, frames: int) -> list[EdgeMotion]:
        """Return a motion for each box that the line reaches, from when it enters to when it leaves."""
        px_a_frame = (self.to_x - self.from_x) / frames
        reached = [(box, end) for box, end in zip(self.boxes, self.ends, strict=True) if box.edges[0] < self.to_x]
        return [
            EdgeMotion(
                box,
                (box.edges[0] - self.from_x) / px_a_frame,
                (min(end, self.to_x) - self.from_x) / px_a_frame,
                box.edges[0],
                min(end, self.to_x),
            )
            for box, end in reached
            if end > box.edges[0]
        ]


class Fade(_Direct):
    """Bring a mobject and its parts to an opacity."""

    def __init__(self, mobject: Mobject, to: float, run_time: float, rate_func: RateFunction = smooth) -> None:
        super().__init__(mobject, run_time, rate_func)
        self.to = to
        self.starts: list[tuple[Drawn, float]] = []

    def remember(self) -> None:
        """Note the opacities."""
        self.starts = [(part, part.opacity) for part in _drawn(self.mobject)]

    def show(self, share: float) -> None:
        """Set the opacities."""
        for part, start in self.starts:
            part.opacity = _mix(start, self.to, share)


class Appear(Fade):
    """Bring a mobject that was not on the page to full opacity."""

    def __init__(self, mobject: Mobject, run_time: float, rate_func: RateFunction = smooth) -> None:
        super().__init__(mobject, 1.0, run_time, rate_func)

    def remember(self) -> None:
        """Start from nothing."""
        self.starts = [(part, 0.0) for part in _drawn(self.mobject)]


class Move(_Direct):
    """Move a mobject and its parts by ``dx``, ``dy`` px; not for what means time along x."""

    def __init__(
        self, mobject: Mobject, dx: float, dy: float, run_time: float, rate_func: RateFunction = smooth
    ) -> None:
        super().__init__(mobject, run_time, rate_func)
        self.by = (dx, dy, 0.0)
        self.starts: list[tuple[Drawn, Any]] = []

    def remember(self) -> None:
        """Note the points."""
        self.starts = [(part, part.points.copy()) for part in _drawn(self.mobject)]

    def show(self, share: float) -> None:
        """Place the points."""
        for part, start in self.starts:
            part.points = start + [component * share for component in self.by]


class Morph(_Direct):
    """Turn a box into another's edges, colour, radius and opacity; what means time keeps its edges in x."""

    def __init__(self, box: Box, target: Box, run_time: float, rate_func: RateFunction = smooth) -> None:
        super().__init__(box, run_time, rate_func)
        self.box, self.target = box, target
        self.start = box.copy()

    def remember(self) -> None:
        """Note the box as it is."""
        self.start = self.box.copy()

    def show(self, share: float) -> None:
        """Show the mix."""
        start, target, box = self.start, self.target, self.box
        box.points = start.points + (target.points - start.points) * share if share < 1 else target.points.copy()
        box.opacity = _mix(start.opacity, target.opacity, share)
        box.radius_px = _mix(start.radius_px, target.radius_px, share)
        box.fill_colour = mix_colours(start.fill_colour, target.fill_colour, share)


class Count(_Direct):
    """Let digits count through a duration, linearly; ``format`` is a name of ``traces.wording.FORMATS``."""

    def __init__(self, digits: Digits, from_ns: float, to_ns: float, format: str, run_time: float) -> None:
        super().__init__(digits, run_time, linear)
        self.digits, self.from_ns, self.to_ns, self.words = digits, from_ns, to_ns, FORMATS[format]

    def show(self, share: float) -> None:
        """Say the duration."""
        self.digits.set_text(self.words(_mix(self.from_ns, self.to_ns, share)))


def mix_colours(start: str, end: str, share: float) -> str:
    """Return the colour at ``share`` of the way between two ``#rrggbb`` colours."""
    if share <= 0 or start == end:
        return start
    if share >= 1:
        return end
    parts = ((int(start[i : i + 2], 16), int(end[i : i + 2], 16)) for i in (1, 3, 5))
    return "#" + "".join(f"{round(_mix(a, b, share)):02X}" for a, b in parts)


def _mix(start: float, end: float, share: float) -> float:
    return end if share >= 1 else start + (end - start) * share


def _set_right(box: Box, x1: float) -> None:
    x0, y0, _, y1 = box.edges
    box.set_edges(x0, y0, x1, y1)


def _drawn(mobject: Mobject) -> list[Drawn]:
    return [part for part in mobject.get_family() if isinstance(part, Drawn)]

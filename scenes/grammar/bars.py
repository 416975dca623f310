"""Bars of a path on one axis: exact edges, the separators between bars that touch, markers for slivers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from scenes.grammar.scale import Scale
from traces.spans import Span

THIN_PX = 3.0
"""Narrower bars keep their width and are named by a marker."""
SEPARATOR_PX = 2.0
STEP_PITCH_MIN_PX = 4.0
"""Steps closer than this are drawn as one block."""


@dataclass(frozen=True, slots=True)
class PathBar:
    """One span as a bar; its edges are the span's start and end, unrounded."""

    span: Span
    x0_px: float
    x1_px: float

    @property
    def width_px(self) -> float:
        """True width, however thin."""
        return self.x1_px - self.x0_px

    @property
    def thin(self) -> bool:
        """Whether it needs a marker, because its edges cannot be told apart."""
        return self.width_px < THIN_PX


@dataclass(frozen=True, slots=True)
class Separator:
    """A 2 px line in lane colour between two bars that touch, so that each edge can be read."""

    before: PathBar
    after: PathBar

    @property
    def centre_px(self) -> float:
        """On the boundary; where slivers lie between the two bars, in the middle of them."""
        return (self.before.x1_px + self.after.x0_px) / 2


def path_bars(spans: Sequence[Span], scale: Scale) -> list[PathBar]:
    """Place spans on an axis."""
    return [PathBar(span, scale.x(span.start_ns), scale.x(span.end_ns)) for span in spans]


def separators(bars: Sequence[PathBar]) -> list[Separator]:
    """Return the separators that a row needs: between neighbours of which both can be read, under 2 px apart."""
    readable = [bar for bar in sorted(bars, key=lambda bar: bar.x0_px) if not bar.thin]
    return [
        Separator(before, after) for before, after in pairwise(readable) if after.x0_px - before.x1_px < SEPARATOR_PX
    ]


def crowded(spans: Sequence[Span], scale: Scale) -> bool:
    """Return whether steps follow one another too closely to be told apart, so that they are drawn as one block."""
    if len(spans) < 2:
        return False
    return scale.width(spans[-1].start_ns - spans[0].start_ns) / (len(spans) - 1) < STEP_PITCH_MIN_PX

"""The lens: a bracket on the axis, the factor in print, and what hides there to scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from scenes.grammar.scale import Scale
from traces.spans import Span

SHARE_MAX = 0.05
"""The lens covers stages that are together under this share of the axis; larger ones can be seen without it."""
MARGIN = 1.08
"""How much wider than its stages the window is at least, so that what follows is seen to run on."""
_FACTOR_DIGITS = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8)


@dataclass(frozen=True, slots=True)
class Lens:
    """A window of the main axis, from 0, and its magnified scale."""

    window_ns: float
    factor: float
    scale: Scale
    width_px: float


def head_spans(path: Sequence[Span]) -> list[Span]:
    """Return what happens before the request waits for the model or runs: the stages that the lens is for."""
    return list(takewhile(lambda span: span.component not in ("queue", "model"), path))


def open_lens(path: Sequence[Span], main: Scale, x0_px: float, width_px: float) -> Lens | None:
    """Return the lens over the head of the path, with a round factor, or None where it would show nothing new.

    Args:
        path: The request's path.
        main: The scale of the axis that is magnified.
        x0_px: Left edge of the lens.
        width_px: Width of the lens.
    """
    head = head_spans(path)
    if not head or head[-1].end_ns > SHARE_MAX * path[-1].end_ns:
        return None
    exact = width_px / (main.px_per_ns * head[-1].end_ns * MARGIN)
    candidates = [digit * 10**power for power in range(8) for digit in _FACTOR_DIGITS]
    factor = max((value for value in candidates if value <= exact and value == int(value)), default=0)
    if factor < 2:
        return None
    scale = Scale(main.px_per_ns * factor, x0_px)
    return Lens(scale.ns(width_px), float(factor), scale, width_px)

"""Dimension lines: a measured length with its label set into the line (look rules 25 and 26)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

CAP_PX = 28.0
LINE_PX = 4.0
CLEAR_PX = 20.0
STUB_MIN_PX = 8.0
OUTSIDE_GAP_PX = 18.0

Place = Literal["inside", "right", "left"]


@dataclass(frozen=True, slots=True)
class Dimension:
    """Where a dimension line's strokes and its label go."""

    x0_px: float
    x1_px: float
    label_x0_px: float
    """Left end of the label."""
    place: Place
    strokes: tuple[tuple[float, float], ...]
    """The line's pieces, as x from and x to."""


def dimension(x0_px: float, x1_px: float, label_px: float, left_px: float, right_px: float) -> Dimension:
    """Set a label into a dimension line, or beside it where the line would show less than 8 px a side.

    Args:
        x0_px: Start of the measured length.
        x1_px: Its end.
        label_px: Width of the label.
        left_px: Left limit of the page.
        right_px: Right limit of the page.
    """
    middle = (x0_px + x1_px) / 2
    start, end = middle - label_px / 2, middle + label_px / 2
    if start - CLEAR_PX - x0_px >= STUB_MIN_PX:
        return Dimension(x0_px, x1_px, start, "inside", ((x0_px, start - CLEAR_PX), (end + CLEAR_PX, x1_px)))
    place, label_x0_px = beside(x0_px, x1_px, label_px, left_px, right_px)
    return Dimension(x0_px, x1_px, label_x0_px, place, ((x0_px, x1_px),))


def beside(x0_px: float, x1_px: float, label_px: float, left_px: float, right_px: float) -> tuple[Place, float]:
    """Place a label outside of a length: on the side that begins the plot if it fits there, else where it fits."""
    left = x0_px - OUTSIDE_GAP_PX - label_px
    if left >= left_px or x1_px + OUTSIDE_GAP_PX + label_px > right_px:
        return "left", max(left_px, left)
    return "right", x1_px + OUTSIDE_GAP_PX


def place_label(x0_px: float, x1_px: float, label_px: float, left_px: float, right_px: float) -> tuple[Place, float]:
    """Place a bar's label by the first that fits: inside with 20 px a side, right of it, left of it.

    Returns:
        The place and the label's left end.
    """
    if label_px + 2 * CLEAR_PX <= x1_px - x0_px:
        return "inside", (x0_px + x1_px - label_px) / 2
    if x1_px + OUTSIDE_GAP_PX + label_px <= right_px:
        return "right", x1_px + OUTSIDE_GAP_PX
    return "left", max(left_px, x0_px - OUTSIDE_GAP_PX - label_px)

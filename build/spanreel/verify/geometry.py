"""A ledger's measures have to make sense before a picture can be held to them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from math import isfinite

from scenes.ledger import Axis, Pause
from spanreel.verify.faults import Fault

_PAGE_PX = (1920.0, 1080.0)


def geometry_faults(pause: Pause) -> Iterator[Fault]:
    """Find boxes that are turned inside out or lie off the page, and axes without a scale."""
    for mark in pause.marks:
        if not _on_page((mark.x0_px, mark.y0_px, mark.x1_px, mark.y1_px)):
            yield Fault("edge", "the ledger gives it a box that is not on the page", mark=mark.id)
    for text in pause.texts:
        if not _on_page(text.box_px):
            yield Fault("text", "the ledger gives it a box that is not on the page", mark=text.id)
    for axis in pause.axes:
        if not _has_scale(axis):
            yield Fault("scale", "the ledger gives it no two ticks in order", mark=f"axis {axis.id}")


def _on_page(box: tuple[float, float, float, float]) -> bool:
    x0, y0, x1, y1 = box
    return all(map(isfinite, box)) and 0 <= x0 <= x1 <= _PAGE_PX[0] and 0 <= y0 <= y1 <= _PAGE_PX[1]


def _has_scale(axis: Axis) -> bool:
    places = [(tick.value_ns, tick.x_px) for tick in axis.ticks]
    in_order = all(a[0] < b[0] and a[1] < b[1] for a, b in pairwise(places))
    return len(places) >= 2 and in_order and _on_page((axis.x0_px, axis.tick_y0_px, axis.x1_px, axis.tick_y1_px))

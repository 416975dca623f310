"""What a row of the picture must show, from the trace and the fitted scale."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from scenes.ledger import Axis, Mark, Pause
from spanreel.verify.axes import Fit
from spanreel.verify.picture import levels
from traces.bindings import Measured

THIN_PX = 3.0
"""Narrower marks cannot be read; they are drawn true and named by a marker."""
BRACKET_LINE_PX = 4.0
OUTLINE_PX = 3.0
_MASK_MARGIN_PX = 3.0
_LENS_FRAME_PX = 4.0


@dataclass(frozen=True, slots=True)
class Place:
    """Where a mark must stand, in px of the page."""

    mark: Mark
    x0_px: float
    x1_px: float
    instant_px: float | None = None
    """Where its instant stands, if it marks one."""
    cut: frozenset[str] = frozenset()
    """The sides on which its axis ends before it does."""

    @property
    def readable(self) -> bool:
        """Whether it is wide enough for its edges to be read; what the ledger says of it is not asked."""
        return self.mark.kind == "hairline" or (self.mark.kind == "bar" and self.x1_px - self.x0_px >= THIN_PX)


@dataclass(frozen=True, slots=True)
class Plateau:
    """A stretch of a strip in one colour; without an owner, the ground."""

    x0_px: float
    x1_px: float
    place: Place | None

    @property
    def width_px(self) -> float:
        """Its width."""
        return self.x1_px - self.x0_px

    @property
    def level(self) -> float | None:
        """Its brightness, where the ledger says it."""
        return levels(self.place.mark.colour)[0] if self.place else None


@dataclass(frozen=True)
class Strip:
    """A few rows of pixels across the picture, and what must be seen there from left to right."""

    y0_px: float
    y1_px: float
    plateaus: list[Plateau]
    masked: list[tuple[float, float]] = field(default_factory=list)
    """Stretches where something else may be seen: texts, markers, the frame of a lens."""


def places(pause: Pause, measured: Mapping[str, Measured], fits: Mapping[str, Fit]) -> list[Place]:
    """Place the marks of a pause by the trace and the fitted scales, in drawing order.

    Args:
        pause: The picture's ledger.
        measured: What the binding of each mark resolves to, by mark id.
        fits: The fitted scale of each axis.
    """
    axes = {axis.id: axis for axis in pause.axes}
    return [
        _place(mark, measured[mark.id], fits[mark.axis], axes[mark.axis])
        for mark in pause.marks
        if mark.id in measured and mark.axis in fits
    ]


def probe_strips(mark: Mark) -> list[tuple[float, float]]:
    """Return the rows in which a mark's edges can be read: near its top and its bottom, inside its outline."""
    if mark.pattern == "solid":
        return [(mark.y0_px + 1, mark.y0_px + 5), (mark.y1_px - 5, mark.y1_px - 1)]
    return [(mark.y0_px, mark.y0_px + OUTLINE_PX), (mark.y1_px - OUTLINE_PX, mark.y1_px)]


def strip(pause: Pause, placed: Iterable[Place], y0_px: float, y1_px: float) -> Strip:
    """Return what the rows between two heights must show."""
    cells: list[Plateau] = []
    masked = list(_foreign(pause, y0_px, y1_px))
    for place in placed:
        mark = place.mark
        if mark.y1_px <= y0_px or mark.y0_px >= y1_px:
            continue
        whole = mark.y0_px <= y0_px and mark.y1_px >= y1_px
        if not whole or mark.kind == "marker":
            masked.append((place.x0_px - _MASK_MARGIN_PX, place.x1_px + _MASK_MARGIN_PX))
            continue
        for x0_px, x1_px in _inked(place):
            cells = _paint(cells, Plateau(x0_px, x1_px, place))
    return Strip(y0_px, y1_px, _with_ground(cells), masked)


def _place(mark: Mark, value: Measured, fit: Fit, axis: Axis) -> Place:
    start_ns = value.start_ns if value.start_ns is not None else mark.start_ns
    if mark.kind in ("hairline", "separator"):
        instant_ns = start_ns + (value.value if mark.kind == "hairline" else 0)
        x_px = fit.x(instant_ns)
        shift_px = x_px - fit_of_ledger(axis).x(instant_ns)
        return Place(mark, mark.x0_px + shift_px, mark.x1_px + shift_px, x_px)
    if mark.kind == "marker":
        return Place(mark, mark.x0_px, mark.x1_px)
    x0_px, x1_px = fit.x(start_ns), fit.x(start_ns + value.value)
    cut_left, cut_right = mark.cut_left and x0_px < axis.x0_px, mark.cut_right and x1_px > axis.x1_px
    cut = frozenset((["left"] if cut_left else []) + (["right"] if cut_right else []))
    return Place(mark, axis.x0_px if cut_left else x0_px, axis.x1_px if cut_right else x1_px, cut=cut)


def fit_of_ledger(axis: Axis) -> Fit:
    """Return the scale that the ledger's own ticks stand for."""
    first, last = axis.ticks[0], axis.ticks[-1]
    px_per_ns = (last.x_px - first.x_px) / (last.value_ns - first.value_ns)
    return Fit(first.x_px - first.value_ns * px_per_ns, px_per_ns, 0.0)


def _inked(place: Place) -> list[tuple[float, float]]:
    if place.mark.kind != "bracket":
        return [(place.x0_px, place.x1_px)]
    return [(place.x0_px, place.x0_px + BRACKET_LINE_PX), (place.x1_px - BRACKET_LINE_PX, place.x1_px)]


def _foreign(pause: Pause, y0_px: float, y1_px: float) -> Iterator[tuple[float, float]]:
    for text in pause.texts:
        if text.box_px[1] < y1_px + 1 and text.box_px[3] > y0_px - 1:
            yield text.box_px[0] - _MASK_MARGIN_PX, text.box_px[2] + _MASK_MARGIN_PX
    for axis in pause.axes:
        if axis.kind == "lens":
            for edge_px in (axis.x0_px, axis.x1_px):
                yield edge_px - _LENS_FRAME_PX, edge_px + _LENS_FRAME_PX


def _paint(cells: list[Plateau], new: Plateau) -> list[Plateau]:
    """Lay a stretch over those that are there."""
    kept = []
    for cell in cells:
        if cell.x1_px <= new.x0_px or cell.x0_px >= new.x1_px:
            kept.append(cell)
            continue
        if cell.x0_px < new.x0_px:
            kept.append(Plateau(cell.x0_px, new.x0_px, cell.place))
        if cell.x1_px > new.x1_px:
            kept.append(Plateau(new.x1_px, cell.x1_px, cell.place))
    return [*kept, new]


def _with_ground(cells: list[Plateau]) -> list[Plateau]:
    """Order stretches from left to right and put the ground between and around them."""
    plateaus: list[Plateau] = []
    cursor = 0.0
    for cell in sorted(cells, key=lambda cell: cell.x0_px):
        if cell.x0_px > cursor:
            plateaus.append(Plateau(cursor, cell.x0_px, None))
        plateaus.append(cell)
        cursor = cell.x1_px
    return [*plateaus, Plateau(cursor, max(cursor, 1920.0), None)]

"""One picture held to its ledger and the trace: scale, edges, colours, and nothing else that looks like a bar."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import isfinite

from scenes.ledger import Mark, Pause
from spanreel.verify.axes import Fit, fit_axes
from spanreel.verify.edges import Reading, Side, read_strip, unlisted
from spanreel.verify.faults import Fault
from spanreel.verify.picture import Picture, levels
from spanreel.verify.profile import find_pulse
from spanreel.verify.rows import BRACKET_LINE_PX, Place, Strip, places, probe_strips, strip
from traces.bindings import Measured

EDGE_ERROR_PX = 1.0
"""How far an edge may be off; in a smaller picture than 1080 rows, that many of its pixels."""
_LEDGER_ERROR_PX = 0.5
_COLOUR_ERROR = 12.0
_COLOUR_FROM = 16.0
_BLUR_PX = 4.0
_SCALE_DRIFT_PX = 1.0
_SCALE_FROM_EDGES = 3
_CAP_Y_PX = (-12.0, -6.0)
"""Rows of a dimension line's cap above its middle."""
_CAP_SEARCH = 12
_INSTANT_PX = 0.1
_GROUND_LEVEL = 30.0
_READABLE = ("bar", "hairline")


@dataclass
class PauseCheck:
    """What was found at a pause."""

    faults: list[Fault] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    """Marks of which an edge is covered or has no contrast, though they are wide enough."""
    max_error_px: float = 0.0


def check_pause(pause: Pause, measured: Mapping[str, Measured], picture: Picture) -> PauseCheck:
    """Hold a picture to the trace.

    Args:
        pause: The ledger's entry of the picture.
        measured: What each mark's binding resolves to.
        picture: The decoded picture.
    """
    check = PauseCheck()
    fits, scale_faults = fit_axes(pause, picture)
    check.faults += scale_faults
    placed = places(pause, measured, fits)
    bands = [[strip(pause, placed, *rows) for rows in probe_strips(mark)] for mark in _bands(placed)]
    strips = [each for band in bands for each in band]
    readings = [reading for each in strips for reading in read_strip(each, picture)]
    tolerance_px = EDGE_ERROR_PX / min(1.0, picture.scale)
    worst = _worst(readings)
    check.faults += _edge_faults(worst, tolerance_px)
    check.faults += _scale_drift(pause, worst, fits, tolerance_px)
    check.faults += _ledger_faults(placed)
    check.faults += _instant_faults(placed)
    check.faults += _cap_faults(placed, picture, tolerance_px)
    check.faults += _colour_faults(strips, picture)
    check.faults += _unlisted_faults(pause, bands, picture)
    check.max_error_px = max((r.error_px for r in worst.values() if isfinite(r.error_px)), default=0.0)
    check.unread = [place.mark.id for place in placed if place.readable
                    and any((place.mark.id, side) not in worst for side in {"left", "right"} - place.cut)]  # fmt: skip
    return check


def _bands(placed: Iterable[Place]) -> Iterable[Mark]:
    """Return one mark for each height at which edges can be read; an outline, if there is one, says how deep."""
    bands: dict[tuple[float, float], Mark] = {}
    for mark in (place.mark for place in placed if place.mark.kind in _READABLE):
        band = (mark.y0_px, mark.y1_px)
        if band not in bands or mark.pattern != "solid":
            bands[band] = mark
    return bands.values()


def _worst(readings: Iterable[Reading]) -> dict[tuple[str, Side], Reading]:
    """Return the reading of each edge that is furthest off."""
    worst: dict[tuple[str, Side], Reading] = {}
    for reading in readings:
        key = (reading.mark.id, reading.side)
        if key not in worst or reading.error_px > worst[key].error_px:
            worst[key] = reading
    return worst


def _edge_faults(worst: Mapping[tuple[str, Side], Reading], tolerance_px: float) -> Iterator[Fault]:
    for reading in worst.values():
        expected = f"{reading.side} edge at {reading.expected_px:.1f} px"
        if reading.found_px is None:
            yield Fault("missing", "no such edge in the picture", expected, mark=reading.mark.id)
        elif reading.error_px > tolerance_px:
            yield Fault("edge", f"{reading.found_px:.1f} px", expected, mark=reading.mark.id)


def _scale_drift(
    pause: Pause, worst: Mapping[tuple[str, Side], Reading], fits: Mapping[str, Fit], tolerance_px: float
) -> Iterator[Fault]:
    """Say so when the bars of an axis are off in proportion to time: they are drawn at another scale."""
    for axis in pause.axes:
        off = [(r.expected_px - fits[axis.id].x0_px, r.found_px - r.expected_px) for r in worst.values()
               if r.mark.axis == axis.id and axis.id in fits and r.found_px is not None
               and r.error_px > tolerance_px]  # fmt: skip
        stretches = sorted(error / way for way, error in off if way > 0)
        if len(stretches) < _SCALE_FROM_EDGES:
            continue
        stretch = stretches[len(stretches) // 2]
        alike = sum(abs(error - stretch * way) <= tolerance_px for way, error in off)
        if abs(stretch) * (axis.x1_px - axis.x0_px) > _SCALE_DRIFT_PX and alike > len(off) / 2:
            yield Fault("scale", f"bars at {1 + stretch:.4f} times the axis's scale", "1", mark=f"axis {axis.id}")


def _ledger_faults(placed: Iterable[Place]) -> Iterator[Fault]:
    """The ledger itself says the edges that the trace and the drawn scale give."""
    for place in placed:
        mark = place.mark
        off_px = max(abs(mark.x0_px - place.x0_px), abs(mark.x1_px - place.x1_px))
        if off_px > _LEDGER_ERROR_PX:
            stated = f"the ledger says {mark.x0_px:.1f}–{mark.x1_px:.1f} px"
            yield Fault("edge", stated, f"{place.x0_px:.1f}–{place.x1_px:.1f} px", mark=mark.id)


def _instant_faults(placed: Iterable[Place]) -> Iterator[Fault]:
    """A hairline or a separator covers the instant that it stands for."""
    for place in placed:
        x_px = place.instant_px
        if x_px is not None and not place.x0_px - _INSTANT_PX <= x_px <= place.x1_px + _INSTANT_PX:
            seen = f"covers {place.x0_px:.1f}–{place.x1_px:.1f} px"
            yield Fault("edge", seen, f"its instant at {x_px:.1f} px", mark=place.mark.id)


def _cap_faults(placed: Iterable[Place], picture: Picture, tolerance_px: float) -> Iterator[Fault]:
    """Read the caps of dimension lines; where two lines meet, the one's cap may serve both."""
    half_px = BRACKET_LINE_PX / 2
    for place in placed:
        if place.mark.kind != "bracket":
            continue
        left = [place.x0_px + half_px, place.x0_px - half_px]
        for side, x_px, caps in (("left", place.x0_px, left), ("right", place.x1_px, [place.x1_px - half_px])):
            errors = [error for cap_px in caps if (error := _cap_error(place.mark, cap_px, picture)) is not None]
            if min(errors, default=tolerance_px + 1) > tolerance_px:
                seen = f"a cap {min(errors):.1f} px off" if errors else "no cap"
                yield Fault("edge", seen, f"{side} end at {x_px:.1f} px", mark=place.mark.id)


def _cap_error(mark: Mark, cap_px: float, picture: Picture) -> float | None:
    middle_px = (mark.y0_px + mark.y1_px) / 2
    profile = picture.strip(middle_px + _CAP_Y_PX[0], middle_px + _CAP_Y_PX[1])
    ground = (_GROUND_LEVEL, _GROUND_LEVEL)
    found = find_pulse(profile, cap_px * picture.scale, ground, levels(mark.colour)[0], _CAP_SEARCH)
    return abs(found.centre / picture.scale - cap_px) if found else None


def _colour_faults(strips: Iterable[Strip], picture: Picture) -> Iterator[Fault]:
    """Compare the colour of a wide stretch of every solid bar."""
    seen: set[str] = set()
    for each in strips:
        for plateau in each.plateaus:
            mark = plateau.place.mark if plateau.place else None
            wide = plateau.width_px * picture.scale >= _COLOUR_FROM
            if mark is None or mark.kind != "bar" or mark.pattern != "solid" or mark.id in seen or not wide:
                continue
            x0_px, x1_px = plateau.x0_px + _BLUR_PX, plateau.x1_px - _BLUR_PX
            if any(a < x1_px and b > x0_px for a, b in each.masked):
                continue
            seen.add(mark.id)
            found = picture.colour(x0_px, x1_px, each.y0_px, each.y1_px)
            off = max(abs(a - b) for a, b in zip(found, levels(mark.colour), strict=True))
            if off > _COLOUR_ERROR / min(1.0, picture.scale):
                stated = f"colour {mark.colour}"
                yield Fault("ink", "levels " + "/".join(f"{value:.0f}" for value in found), stated, mark=mark.id)


def _unlisted_faults(pause: Pause, bands: Iterable[list[Strip]], picture: Picture) -> Iterator[Fault]:
    """Report what is bright at the top and the bottom of a band; a slanted line crosses them at different places."""
    left_px = min((axis.x0_px for axis in pause.axes), default=0.0)
    for upper, lower in bands:
        below = unlisted(lower, picture)
        for x0_px, x1_px in unlisted(upper, picture):
            if x0_px >= left_px and any(a < x1_px and b > x0_px for a, b in below):
                yield Fault("ink", f"a bar at x {x0_px:.1f}–{x1_px:.1f}, y {upper.y0_px:.0f}", "a mark in the ledger")

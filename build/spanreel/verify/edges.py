"""Reads a strip of a picture edge by edge, and finds what looks like a bar where none must be.

Between two stretches that are wide enough to be told apart stands an edge, or an edge with thin things in it (a
separator, a hairline, slivers). Such a place moves as one, so one shift is read for it, and every edge in it has it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from scenes.ledger import Mark
from spanreel.verify.picture import Picture, Profile
from spanreel.verify.profile import find_pulse, find_step, runs
from spanreel.verify.rows import Plateau, Strip

CONTRAST_MIN = 24.0
"""Levels that are closer than this cannot be told apart by brightness."""
_WIDE_FROM = 6.0
"""Pixels from which on a stretch shows its own level."""
_DRAFT_WIDE_FROM = 10.0
"""In a smaller picture than 1080 rows a separator is a pixel or less, and lost between bars narrower than this."""
_PULSE_FROM_PX = 0.8
"""Thinner things only shift the edge that they stand in."""
_SEARCH_PX = 60.0
_REACH = 6.0
_NEAR = 24
_BLUR = 3
_LEVEL_ERROR = 12.0
_GROUND_LEVEL = 40.0
_INK_CONTRAST = 36.0
"""The darkest bar colour stands twice as far above the ground."""
_EXPLAINED_MARGIN_PX = 2.0
SEPARATOR_PX = 2.0
_COVERED_PX = 0.3
"""A later mark that hides more of a bar than this hides its edge."""
_INK_MIN = 2

Side = Literal["left", "right"]


@dataclass(frozen=True, slots=True)
class Reading:
    """Where an edge of a mark was found, in px of the page."""

    mark: Mark
    side: Side
    expected_px: float
    found_px: float | None

    @property
    def error_px(self) -> float:
        """How far it is off; infinite if it was not found."""
        return float("inf") if self.found_px is None else abs(self.found_px - self.expected_px)


def read_strip(strip: Strip, picture: Picture) -> list[Reading]:
    """Read every edge of a strip that brightness can show."""
    profile = picture.strip(strip.y0_px, strip.y1_px)
    plateaus = strip.plateaus
    wide = [index for index, plateau in enumerate(plateaus) if plateau.width_px * picture.scale >= _WIDE_FROM]
    readings: list[Reading] = []
    for first, last in pairwise(wide):
        readings += _read_place(plateaus[first : last + 1], profile, picture.scale)
    return [reading for reading in readings if not _is_masked(reading.expected_px, strip)]


def unlisted(strip: Strip, picture: Picture) -> list[tuple[float, float]]:
    """Return stretches, in px of the page, that are as bright as a bar and that nothing in the ledger explains."""
    profile, scale = picture.strip(strip.y0_px, strip.y1_px), picture.scale
    explained = np.zeros(len(profile), bool)
    known = [(p.x0_px, p.x1_px) for p in strip.plateaus if p.place] + strip.masked
    for x0_px, x1_px in known:
        first, end = (x0_px - _EXPLAINED_MARGIN_PX) * scale, (x1_px + _EXPLAINED_MARGIN_PX) * scale
        explained[max(0, round(first)) : max(0, round(end))] = True
    bright = (profile > _GROUND_LEVEL + _INK_CONTRAST) & ~explained
    return [(first / scale, end / scale) for first, end in runs(bright) if end - first >= _INK_MIN]


def _read_place(plateaus: Sequence[Plateau], profile: Profile, scale: float) -> list[Reading]:
    """Read the shift of what stands between the first and the last of these stretches, which are wide."""
    outside = _level(plateaus[0], profile, scale, -1), _level(plateaus[-1], profile, scale, 1)
    edges = list(_edges(plateaus))
    if scale < 1 and min(plateaus[0].width_px, plateaus[-1].width_px) * scale < _DRAFT_WIDE_FROM:
        return []
    pulse = _expected_pulse(plateaus, outside)
    if pulse is not None:
        found = find_pulse(profile, pulse.centre * scale, outside, pulse.level, round(_SEARCH_PX / 2 * scale))
        shift_px = None if found is None else found.centre / scale - pulse.centre
        level_ground = abs(outside[0] - outside[1]) < CONTRAST_MIN
        wider_px = (found.width / scale - pulse.width) / 2 if found and level_ground else 0.0
    elif abs(outside[0] - outside[1]) >= CONTRAST_MIN:
        shift_px, wider_px = _step_shift(plateaus, outside, profile, scale), 0.0
    else:
        return []
    if shift_px is None:
        return [Reading(mark, side, x, None) for mark, side, x in edges]
    middle_px = pulse.centre if pulse else 0.0
    return [
        Reading(mark, side, x, x + shift_px + (wider_px if x > middle_px else -wider_px)) for mark, side, x in edges
    ]


@dataclass(frozen=True, slots=True)
class _ExpectedPulse:
    """What thin things between two stretches look like from afar: one line, in px of the page."""

    centre: float
    width: float
    level: float


def _expected_pulse(plateaus: Sequence[Plateau], outside: tuple[float, float]) -> _ExpectedPulse | None:
    """Return the line that stands between two stretches, if one does that is brighter or darker than both."""
    between = plateaus[1:-1]
    level = max((_stated(p) for p in between), key=lambda level: _beyond(level, *outside), default=outside[0])
    if _beyond(level, *outside) < CONTRAST_MIN:
        return None
    shares = [max(0.0, (_stated(p) - outside[0]) / (level - outside[0])) for p in between]
    widths = [share * plateau.width_px for share, plateau in zip(shares, between, strict=True)]
    if sum(widths) < _PULSE_FROM_PX:
        return None
    middles = ((plateau.x0_px + plateau.x1_px) / 2 for plateau in between)
    centre_px = sum(width * middle for width, middle in zip(widths, middles, strict=True)) / sum(widths)
    return _ExpectedPulse(centre_px, sum(widths), level)


def _beyond(level: float, left: float, right: float) -> float:
    """Return by how much a level lies outside of two others."""
    return max(min(left, right) - level, level - max(left, right))


def _step_shift(
    plateaus: Sequence[Plateau], outside: tuple[float, float], profile: Profile, scale: float
) -> float | None:
    left, *between, right = plateaus
    left_level, right_level = outside
    shares = ((p.width_px, (_stated(p) - right_level) / (left_level - right_level)) for p in between)
    sharp_px = left.x1_px + sum(width_px * share for width_px, share in shares)
    reach = min(_REACH, left.width_px * scale / 2, right.width_px * scale / 2)
    reach += (right.x0_px - left.x1_px) * scale
    found = find_step(profile, sharp_px * scale, left_level, right_level, reach, round(_SEARCH_PX * scale))
    return None if found is None else found / scale - sharp_px


def _level(plateau: Plateau, profile: Profile, scale: float, direction: int) -> float:
    """Return the level that a stretch has at its left (1) or right (−1) end, or should have if that is too short."""
    first, end = round(plateau.x0_px * scale) + _BLUR, round(plateau.x1_px * scale) - _BLUR
    first, end = (first, min(end, first + _NEAR)) if direction > 0 else (max(first, end - _NEAR), end)
    stated = _stated(plateau)
    if end - first < _WIDE_FROM:
        return stated
    measured = float(np.median(profile[first:end]))
    tolerance = _LEVEL_ERROR if plateau.place else _INK_CONTRAST
    return measured if abs(measured - stated) <= tolerance else stated


def _stated(plateau: Plateau) -> float:
    return _GROUND_LEVEL if plateau.level is None else plateau.level


def _edges(plateaus: Sequence[Plateau]) -> Iterator[tuple[Mark, Side, float]]:
    """Return the edges of readable marks between the first and the last stretch, each at its own place."""
    for before, plateau in pairwise(plateaus):
        place = plateau.place
        if place and place.readable and "left" not in place.cut and _shows(place.x0_px, plateau.x0_px, before):
            yield place.mark, "left", place.x0_px
    for plateau, after in pairwise(plateaus):
        place = plateau.place
        if place and place.readable and "right" not in place.cut and _shows(place.x1_px, plateau.x1_px, after):
            yield place.mark, "right", place.x1_px


def _shows(edge_px: float, seen_px: float, beside: Plateau) -> bool:
    """Whether a mark can be seen up to its edge; a separator stands for the edges on both of its sides."""
    parted = beside.place is not None and beside.place.mark.kind == "separator"
    return abs(edge_px - seen_px) < (SEPARATOR_PX if parted else _COVERED_PX)


def _is_masked(x_px: float, strip: Strip) -> bool:
    return any(x0_px <= x_px <= x1_px for x0_px, x1_px in strip.masked)

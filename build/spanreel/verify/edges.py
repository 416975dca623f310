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
    left, *between, right = plateaus
    left_level, right_level = _level(left, profile, scale, -1), _level(right, profile, scale, 1)
    edges = list(_edges(plateaus))
    if not edges:
        return []
    inside = max((_stated(p) for p in between), key=lambda level: _beyond(level, left_level, right_level), default=0.0)
    weights = [max(0.0, p.width_px * (_stated(p) - left_level) / (inside - left_level)) for p in between
               if inside != left_level]  # fmt: skip
    if sum(weights) >= _PULSE_FROM_PX and _beyond(inside, left_level, right_level) >= CONTRAST_MIN:
        middle_px = sum(w * (p.x0_px + p.x1_px) / 2 for w, p in zip(weights, between, strict=True)) / sum(weights)
        search = round(_SEARCH_PX / 2 * scale)
        found = find_pulse(profile, middle_px * scale, (left_level, right_level), inside, search)
        shift_px = None if found is None else found.centre / scale - middle_px
        if found is None or shift_px is None or abs(left_level - right_level) >= CONTRAST_MIN:
            return [Reading(mark, side, x, None if shift_px is None else x + shift_px) for mark, side, x in edges]
        wider_px = (found.width / scale - sum(weights)) / 2
        return [Reading(mark, side, x, x + shift_px + (wider_px if x > middle_px else -wider_px))
                for mark, side, x in edges]  # fmt: skip
    elif abs(left_level - right_level) >= CONTRAST_MIN:
        shift_px = _step_shift(plateaus, left_level, right_level, profile, scale)
    else:
        return []
    return [Reading(mark, side, x, None if shift_px is None else x + shift_px) for mark, side, x in edges]


def _beyond(level: float, left: float, right: float) -> float:
    """Return by how much a level lies outside of two others."""
    return max(min(left, right) - level, level - max(left, right))


def _step_shift(
    plateaus: Sequence[Plateau], left_level: float, right_level: float, profile: Profile, scale: float
) -> float | None:
    left, *between, right = plateaus
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
        if place and _can_be_read(place.mark, "left") and _shows(place.x0_px, plateau.x0_px, before):
            yield place.mark, "left", place.x0_px
    for plateau, after in pairwise(plateaus):
        place = plateau.place
        if place and _can_be_read(place.mark, "right") and _shows(place.x1_px, plateau.x1_px, after):
            yield place.mark, "right", place.x1_px


def _can_be_read(mark: Mark, side: Side) -> bool:
    cut = mark.cut_left if side == "left" else mark.cut_right
    return mark.readable and mark.kind != "separator" and not cut


def _shows(edge_px: float, seen_px: float, beside: Plateau) -> bool:
    """Whether a mark can be seen up to its edge; a separator stands for the edges on both of its sides."""
    parted = beside.place is not None and beside.place.mark.kind == "separator"
    return parted or abs(edge_px - seen_px) < _COVERED_PX


def _is_masked(x_px: float, strip: Strip) -> bool:
    return any(x0_px <= x_px <= x1_px for x0_px, x1_px in strip.masked)

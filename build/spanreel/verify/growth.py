"""Where a growing bar ends in one picture, told from what lies right of it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from scenes.ledger import Mark
from spanreel.verify.picture import Picture, Profile, levels
from spanreel.verify.profile import find_step
from spanreel.verify.rows import probe_strips

SEARCH_PX = 80.0
"""How far an edge is looked for; one that is further off counts as that far off."""
_CONTRAST_MIN = 40.0
_COLOUR_CONTRAST_MIN = 24.0
_COLOUR_WEIGHT = 0.3
_COLOUR_FROM_PX = 24.0
_BEYOND_PX = (3.0, 13.0)
_UNIFORM = 24.0
"""Where what lies right of an edge differs by more, it cannot tell where the edge is."""
_REACH_PX = 4.0


@dataclass(frozen=True, slots=True)
class EdgeReading:
    """A right edge as found, in px of the page."""

    found_px: float
    weight: float
    """What its error counts; colour is coded at half the size and coarser, so an edge in it is less sharp."""


@dataclass
class Strips:
    """The strips of one picture, each averaged once."""

    picture: Picture
    _known: dict[tuple[float, float], Profile] = field(default_factory=dict)

    def at(self, rows: tuple[float, float]) -> Profile:
        """Return the brightness along rows given by two heights."""
        if rows not in self._known:
            self._known[rows] = self.picture.strip(*rows)
        return self._known[rows]


def read_right_edges(mark: Mark, expected_px: float, now: Strips, start: Strips) -> list[EdgeReading]:
    """Read the right edge of a growing bar in both of its probe strips, where something can tell it.

    Args:
        mark: The bar as it will be.
        expected_px: Where its right edge must stand.
        now: The picture.
        start: The picture before the bar began to grow.
    """
    found = (_by_brightness(mark, expected_px, now.at(rows), start.at(rows), now.picture.scale) or
             _by_colour(mark, expected_px, rows, now.picture) for rows in probe_strips(mark))  # fmt: skip
    return [reading for reading in found if reading is not None]


def _by_brightness(mark: Mark, expected_px: float, now: Profile, start: Profile, scale: float) -> EdgeReading | None:
    own = levels(mark.colour)[0]
    search = round(SEARCH_PX * scale)
    ground, ground_before = (_ground(profile, expected_px * scale, scale) for profile in (now, start))
    if ground is not None and abs(own - ground) >= _CONTRAST_MIN:
        late_px, found = (
            -SEARCH_PX,
            find_step(now, expected_px * scale, own, ground, _reach(mark, expected_px, scale), search),
        )
    elif ground is not None and ground_before is not None and abs(own - ground_before) >= _CONTRAST_MIN:
        # Bar colour where there should be none yet: it is ahead of time.
        late_px, found = SEARCH_PX, find_step(now, expected_px * scale, own, ground_before, _REACH_PX * scale, search)
    else:
        return None
    return EdgeReading(expected_px + late_px if found is None else found / scale, 1.0)


def _by_colour(mark: Mark, expected_px: float, rows: tuple[float, float], picture: Picture) -> EdgeReading | None:
    if picture.scale < 1 or expected_px - mark.x0_px < _COLOUR_FROM_PX:
        return None
    scale = picture.scale / 2
    for profile, own in zip(picture.colour_strips(*rows), levels(mark.colour)[1:], strict=True):
        ground = _ground(profile, expected_px * scale, scale)
        if ground is not None and abs(own - ground) >= _COLOUR_CONTRAST_MIN:
            reach = _reach(mark, expected_px, scale)
            found = find_step(profile, expected_px * scale, own, ground, reach, round(SEARCH_PX * scale))
            if found is not None:
                return EdgeReading(found / scale, _COLOUR_WEIGHT)
    return None


def _ground(profile: Profile, at: float, scale: float) -> float | None:
    """Return the level right of an edge, if it is one level."""
    near, far = (value * scale for value in _BEYOND_PX)
    beyond = profile[round(at + near) : round(at + far)]
    return float(np.median(beyond)) if len(beyond) and float(np.ptp(beyond)) <= _UNIFORM else None


def _reach(mark: Mark, expected_px: float, scale: float) -> float:
    return min(_REACH_PX * scale + 1, max(2.0, (expected_px - mark.x0_px) * scale / 2))

"""Edges along one row of brightness, finer than a pixel.

A sharp edge that lies inside a pixel leaves that pixel a mix of both sides, and coding blurs it further; but what the
profile gains on one side of the edge it loses on the other. So the sum of the profile over a window tells where the
edge is. Positions are in pixels of the picture; pixel i covers i to i + 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor

import numpy as np
from numpy.typing import NDArray

from spanreel.verify.picture import Profile

_SLACK = 1.5
"""How far beyond both levels a pixel may count: a thin bright line beside an edge is part of the sum."""
_PULSE_SHARE_MIN = 0.2
"""A pulse shows at least this share of its contrast somewhere, however thin it is coded."""
_PULSE_REACH = 5


@dataclass(frozen=True, slots=True)
class Pulse:
    """A thin thing between two plateaus, as found."""

    centre: float
    width: float
    """Width of a sharp pulse of full contrast with the same sum."""


def find_step(profile: Profile, near: float, left: float, right: float, reach: float, search: int) -> float | None:
    """Find the edge between two levels that is nearest to where it should be.

    Args:
        profile: Brightness by column.
        near: Where the edge should be.
        left: Level left of it.
        right: Level right of it.
        reach: Half-width of the window that holds nothing but this edge.
        search: How far to look around.

    Returns:
        Its position, or None if the profile does not pass from one level to the other.
    """
    crossing = _nearest_crossing(profile, near, (left + right) / 2, right > left, search)
    if crossing is None:
        return None
    first, end = max(0, floor(crossing - reach)), min(len(profile), ceil(crossing + reach))
    share = np.clip((profile[first:end] - right) / (left - right), -_SLACK, 1 + _SLACK)
    return first + float(share.sum())


def find_pulse(profile: Profile, near: float, outside: tuple[float, float], inside: float, search: int) -> Pulse | None:
    """Find a thin thing between two levels.

    Args:
        profile: Brightness by column.
        near: Where its middle should be.
        outside: Levels left and right of it.
        inside: Its own level.
        search: How far to look around.

    Returns:
        Its middle and width, or None if there is none.
    """
    first, end = max(0, floor(near - search)), min(len(profile), ceil(near + search) + 1)
    if first >= end:
        return None
    columns = np.arange(first, end)
    ground = np.where(columns + 0.5 < near, outside[0], outside[1])
    share = np.clip((profile[first:end] - ground) / (inside - ground), 0, 1.25)
    peaks = np.flatnonzero(share >= max(_PULSE_SHARE_MIN, 0.6 * float(share.max())))
    if len(peaks) == 0:
        return None
    peak = int(peaks[np.argmin(np.abs(columns[peaks] + 0.5 - near))])
    around = slice(max(0, peak - _PULSE_REACH), peak + _PULSE_REACH + 1)
    weights = np.where(share[around] > _PULSE_SHARE_MIN / 4, share[around], 0)
    width = float(weights.sum())
    return Pulse(float((weights * (columns[around] + 0.5)).sum()) / width, width)


def runs(mask: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return first and end of each run of true columns."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], mask, [False]))))
    return [(int(first), int(end)) for first, end in edges.reshape(-1, 2)]


def _nearest_crossing(profile: Profile, near: float, level: float, rising: bool, search: int) -> float | None:
    first, end = max(0, floor(near - search)), min(len(profile), ceil(near + search))
    above = profile[first:end] > level
    changes = np.flatnonzero(np.diff(above.astype(np.int8)) == (1 if rising else -1))
    if len(changes) == 0:
        return None
    before, after = profile[first + changes], profile[first + changes + 1]
    crossings = first + changes + 0.5 + (level - before) / (after - before)
    return float(crossings[np.argmin(np.abs(crossings - near))])

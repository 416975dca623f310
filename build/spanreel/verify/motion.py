"""Bars in motion: at every frame the right edge stands where time has come to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from math import ceil, floor

import numpy as np

from scenes.ledger import Mark, Motion, Pause, Segment
from spanreel.verify.faults import Fault
from spanreel.verify.picture import Picture, Profile, levels
from spanreel.verify.profile import find_step
from spanreel.verify.rows import fit_of_ledger, probe_strips
from spanreel.verify.words import is_replay_factor

MOTION_ERROR_PX = 1.5
MOTION_ERROR_FRAMES = 1.0
_CONTRAST_MIN = 40.0
_COLOUR_CONTRAST_MIN = 24.0
_COLOUR_WEIGHT = 0.3
_COLOUR_FROM_PX = 24.0
_BEYOND_PX = 10.0
_UNIFORM = 24.0
"""Where what lies right of an edge differs by more, it cannot tell where the edge is."""
_READABLE_FROM_PX = 5.0
_SEARCH_PX = 80.0
_REACH_PX = 4.0
_SPEED_SHARE = 0.02
_SAME_PX = 0.01
_WHOLE_FROM_PX = 48.0
_END_SAMPLE_PX = (12.0, 20.0)
_SAME_LEVEL = 12.0


@dataclass(frozen=True, slots=True)
class _EdgeReading:
    found_px: float
    weight: float
    """What its error counts; colour is coded at half the size and coarser, so an edge in it is less sharp."""


@dataclass
class SegmentWatch:
    """Follows the marks of one segment frame by frame.

    Args:
        segment: What the ledger says that moves.
        before: The pause that it starts from.
        after: The pause that it ends in.
        fps: Frames a second.
    """

    segment: Segment
    before: Pause | None
    after: Pause
    fps: int
    max_error_px: float = 0.0
    max_error_frames: float = 0.0
    _worst: dict[str, tuple[float, Fault]] = field(default_factory=dict)
    _empty: dict[str, tuple[float, float]] = field(default_factory=dict)
    _uneven: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._marks = {mark.id: mark for mark in self.after.marks}
        known = {mark.id for mark in self.before.marks} if self.before else set()
        moving = {motion.mark for motion in self.segment.motions}
        self._appearing = [
            mark for mark in self.after.marks
            if mark.kind == "bar" and mark.readable and mark.pattern == "solid" and mark.id not in known | moving
            and mark.x1_px - mark.x0_px >= _WHOLE_FROM_PX and self.before is not None
        ]  # fmt: skip

    def see(self, picture: Picture, first: int, last: int) -> None:
        """Look at a picture that is shown from frame ``first`` to frame ``last`` of the segment."""
        strips: dict[tuple[float, float], Profile] = {}
        for motion in self.segment.motions:
            if motion.mark in self._marks and motion.first_frame <= last and motion.last_frame >= first:
                for frame in {max(first, ceil(motion.first_frame)), min(last, floor(motion.last_frame))}:
                    self._follow(motion, frame, picture, strips)
        for mark in self._appearing:
            self._compare_ends(mark, picture, strips)

    def faults(self) -> Iterator[Fault]:
        """Return what did not hold over the whole segment."""
        yield from self._ledger_faults()
        for _, fault in self._worst.values():
            yield fault
        for mark_id, frames in self._uneven.items():
            if frames > 1:
                yield Fault("motion", f"its ends differ in {frames} frames", "a bar that appears whole", mark=mark_id)

    def _follow(self, motion: Motion, frame: int, picture: Picture, strips: dict[tuple[float, float], Profile]) -> None:
        mark = self._marks[motion.mark]
        px_per_frame = _px_per_frame(motion)
        expected_px = motion.from_px + px_per_frame * (frame - motion.first_frame)
        if expected_px - mark.x0_px < _READABLE_FROM_PX:
            return
        readings = [reading for rows in probe_strips(mark)
                    if (reading := _right_edge(mark, expected_px, rows, picture, strips)) is not None]  # fmt: skip
        if not readings:
            return
        worst = max(readings, key=lambda reading: abs(reading.found_px - expected_px) * reading.weight)
        off_px = worst.found_px - expected_px
        off_frames = abs(off_px / px_per_frame) if px_per_frame >= MOTION_ERROR_PX else 0.0
        self.max_error_px = max(self.max_error_px, abs(off_px) * worst.weight)
        self.max_error_frames = max(self.max_error_frames, off_frames * worst.weight)
        limit = worst.weight * min(1.0, picture.scale)
        if abs(off_px) * limit > MOTION_ERROR_PX or off_frames * limit > MOTION_ERROR_FRAMES:
            fault = Fault("motion", f"right edge at {expected_px + off_px:.1f} px in frame {frame}",
                          f"{expected_px:.1f} px", mark=mark.id)  # fmt: skip
            if abs(off_px) > self._worst.get(mark.id, (0.0, fault))[0]:
                self._worst[mark.id] = (abs(off_px), fault)

    def _compare_ends(self, mark: Mark, picture: Picture, strips: dict[tuple[float, float], Profile]) -> None:
        """A bar that appears is never complete at one end while the other end shows nothing of it."""
        profile = _strip(probe_strips(mark)[0], picture, strips)
        near, far = (value * picture.scale for value in _END_SAMPLE_PX)
        x0, x1 = mark.x0_px * picture.scale, mark.x1_px * picture.scale
        left, right = (float(np.median(profile[int(first) : int(end)])) for first, end in
                       ((x0 + near, x0 + far), (x1 - far, x1 - near)))  # fmt: skip
        empty = self._empty.setdefault(mark.id, (left, right))
        full = levels(mark.colour)[0]
        if min(abs(full - ground) for ground in empty) < _CONTRAST_MIN:
            return
        if (abs(left - full) < _SAME_LEVEL and abs(right - empty[1]) < _SAME_LEVEL) or (
            abs(right - full) < _SAME_LEVEL and abs(left - empty[0]) < _SAME_LEVEL
        ):
            self._uneven[mark.id] = self._uneven.get(mark.id, 0) + 1

    def _ledger_faults(self) -> Iterator[Fault]:
        """Hold the motions to the pauses at both ends, and to one speed."""
        before = {mark.id: mark for mark in self.before.marks} if self.before else {}
        by_mark: dict[str, list[Motion]] = {}
        for motion in sorted(self.segment.motions, key=lambda m: (m.mark, m.first_frame)):
            by_mark.setdefault(motion.mark, []).append(motion)
        for mark_id, mark in self._marks.items():
            motions = by_mark.get(mark_id, [])
            old = before.get(mark_id)
            if motions:
                yield from _chain_faults(mark, old.x1_px if old else mark.x0_px, motions)
            elif old and mark.kind in ("bar", "hairline") and self._same_scale(mark) and _moved(old, mark):
                yield Fault("motion", f"x {old.x0_px:.1f}–{old.x1_px:.1f} became {mark.x0_px:.1f}–{mark.x1_px:.1f} px",
                            "a motion in the ledger", mark=mark_id)  # fmt: skip
        yield from self._replay_faults(by_mark)

    def _same_scale(self, mark: Mark) -> bool:
        """Whether the mark's axis was the same at the pause before."""
        axes = {axis.id: axis for axis in self.before.axes} if self.before else {}
        after = {axis.id: axis for axis in self.after.axes}
        old, new = axes.get(mark.axis), after.get(mark.axis)
        return old is not None and new is not None and [t.x_px for t in old.ticks] == [t.x_px for t in new.ticks]

    def _replay_faults(self, by_mark: Mapping[str, list[Motion]]) -> Iterator[Fault]:
        """Hold the pace of the longest growth to the factor in print."""
        longest = max(self.segment.motions, key=lambda m: m.last_frame - m.first_frame, default=None)
        axes = {axis.id: axis for axis in self.after.axes}
        mark = self._marks.get(longest.mark) if longest else None
        if longest is None or mark is None or mark.axis not in axes or longest.last_frame - longest.first_frame < 3:
            return
        speed = _px_per_frame(longest) * self.fps / fit_of_ledger(axes[mark.axis]).px_per_ns / 1e9
        printed = [text.text for pause in (self.before, self.after) if pause for text in pause.texts
                   if is_replay_factor(text.text)]  # fmt: skip
        stated = stated_factor(printed[0]) if printed else None
        if stated is not None and abs(speed / stated - 1) > _SPEED_SHARE:
            seen = f"the trace plays at {speed:.3g} times real time"
            yield Fault("motion", seen, f"×{stated:.3g} as printed", mark=mark.id)


def stated_factor(words: str) -> float | None:
    """Return the factor that a text such as ``×10 speed`` or ``1/5 speed`` states."""
    for word in words.replace(",", " ").split():
        if word.startswith("×"):
            return float(word[1:])
        if word.startswith("1/"):
            return 1 / float(word[2:])
    return None


def _right_edge(
    mark: Mark, expected_px: float, rows: tuple[float, float], picture: Picture,
    strips: dict[tuple[float, float], Profile],
) -> _EdgeReading | None:  # fmt: skip
    """Return the right edge of a growing bar, from brightness or else from colour, if either can tell it."""
    bright, *colours = levels(mark.colour)
    found = _edge_in(_strip(rows, picture, strips), bright, mark, expected_px, picture.scale, _CONTRAST_MIN)
    if found is not None:
        return _EdgeReading(found, 1.0)
    if picture.scale < 1 or expected_px - mark.x0_px < _COLOUR_FROM_PX:
        return None
    for profile, level in zip(picture.colour_strips(*rows), colours, strict=True):
        found = _edge_in(profile, level, mark, expected_px, picture.scale / 2, _COLOUR_CONTRAST_MIN)
        if found is not None:
            return _EdgeReading(found, _COLOUR_WEIGHT)
    return None


def _edge_in(
    profile: Profile, own: float, mark: Mark, expected_px: float, scale: float, contrast: float
) -> float | None:  # fmt: skip
    at = expected_px * scale
    beyond = profile[round(at + 1 + 2 * scale) : round(at + 3 + _BEYOND_PX * scale)]
    ground = float(np.median(beyond)) if len(beyond) else own
    if abs(own - ground) < contrast or float(np.ptp(beyond)) > _UNIFORM:
        return None
    reach = min(_REACH_PX * scale + 1, max(2.0, (expected_px - mark.x0_px) * scale / 2))
    found = find_step(profile, at, own, ground, reach, round(_SEARCH_PX * scale))
    return None if found is None else found / scale


def _strip(
    rows: tuple[float, float], picture: Picture, strips: dict[tuple[float, float], Profile]
) -> Profile:  # fmt: skip
    if rows not in strips:
        strips[rows] = picture.strip(*rows)
    return strips[rows]


def _chain_faults(mark: Mark, start_px: float, motions: list[Motion]) -> Iterator[Fault]:
    """The motions of a mark lead without a jump from where it stood to where it stands, at one speed."""
    stations = [start_px] + [x for motion in motions for x in (motion.from_px, motion.to_px)] + [mark.x1_px]
    for left_off, goes_on in zip(stations[0::2], stations[1::2], strict=True):
        if abs(left_off - goes_on) > _SAME_PX:
            yield Fault(
                "motion", f"jumps from {left_off:.1f} to {goes_on:.1f} px", "growth without a jump", mark=mark.id
            )
    if any(later.first_frame < earlier.last_frame for earlier, later in pairwise(motions)):
        yield Fault("motion", "two motions at once", "one after another", mark=mark.id)
    speeds = [_px_per_frame(m) for m in motions if m.last_frame - m.first_frame > 1]
    if speeds and max(speeds) - min(speeds) > _SPEED_SHARE * max(map(abs, speeds)):
        yield Fault("motion", f"speeds {min(speeds):.2f} to {max(speeds):.2f} px a frame", "one speed", mark=mark.id)


def _px_per_frame(motion: Motion) -> float:
    return (motion.to_px - motion.from_px) / max(1e-9, motion.last_frame - motion.first_frame)


def _moved(old: Mark, new: Mark) -> bool:
    return abs(old.x0_px - new.x0_px) > _SAME_PX or abs(old.x1_px - new.x1_px) > _SAME_PX

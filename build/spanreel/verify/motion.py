"""Bars in motion: at every frame the right edge stands where time has come to."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, floor

import numpy as np

from scenes.ledger import Mark, Motion, Pause, Segment
from spanreel.verify.faults import Fault
from spanreel.verify.growth import Strips, read_right_edges
from spanreel.verify.picture import Picture, levels
from spanreel.verify.rows import probe_strips
from spanreel.verify.stated_motion import px_per_frame, stated_motion_faults

MOTION_ERROR_PX = 1.5
MOTION_ERROR_FRAMES = 1.0
_READABLE_FROM_PX = 5.0
_WHOLE_FROM_PX = 48.0
_END_SAMPLE_PX = (12.0, 20.0)
_END_CONTRAST_MIN = 40.0
_SAME_LEVEL = 12.0
_UNEVEN_FRAMES = 2


class SegmentWatch:
    """Follows the marks of one segment frame by frame.

    Args:
        segment: What the ledger says that moves.
        before: The pause that it starts from.
        after: The pause that it ends in.
        fps: Frames a second.
    """

    def __init__(self, segment: Segment, before: Pause | None, after: Pause, fps: int) -> None:
        self._segment, self._before, self._after, self._fps = segment, before, after, fps
        self.max_error_frames = 0.0
        self._marks = {mark.id: mark for mark in after.marks}
        known = {mark.id for mark in before.marks} if before else set(self._marks)
        moving = {motion.mark for motion in segment.motions}
        self._appearing = [
            mark for mark in after.marks
            if mark.kind == "bar" and mark.pattern == "solid" and mark.id not in known | moving
            and mark.x1_px - mark.x0_px >= _WHOLE_FROM_PX
        ]  # fmt: skip
        self._start: Strips | None = None
        self._worst: dict[str, tuple[float, Fault]] = {}
        self._uneven: dict[str, int] = {}

    def see(self, picture: Picture, first: int, last: int) -> None:
        """Look at a picture that is shown from frame ``first`` to frame ``last`` of the segment."""
        now = Strips(picture)
        start = self._start = self._start or now
        for motion in self._segment.motions:
            if motion.mark in self._marks and motion.first_frame <= last and motion.last_frame >= first:
                for frame in {max(first, ceil(motion.first_frame)), min(last, floor(motion.last_frame))}:
                    self._follow(motion, frame, now, start)
        for mark in self._appearing:
            self._uneven[mark.id] = self._uneven.get(mark.id, 0) + _is_uneven(mark, now, start)

    def faults(self) -> Iterator[Fault]:
        """Return what did not hold over the whole segment."""
        yield from stated_motion_faults(self._segment, self._before, self._after, self._fps)
        for _, fault in self._worst.values():
            yield fault
        for mark_id, frames in self._uneven.items():
            if frames >= _UNEVEN_FRAMES:
                yield Fault("motion", f"one end comes {frames} frames late", "a bar that appears whole", mark=mark_id)

    def _follow(self, motion: Motion, frame: int, now: Strips, start: Strips) -> None:
        mark, speed_px = self._marks[motion.mark], px_per_frame(motion)
        expected_px = motion.from_px + speed_px * (frame - motion.first_frame)
        if expected_px - mark.x0_px < _READABLE_FROM_PX:
            return
        for reading in read_right_edges(mark, expected_px, now, start):
            off_px = abs(reading.found_px - expected_px) * reading.weight
            off_frames = off_px / speed_px if speed_px >= MOTION_ERROR_PX else 0.0
            self.max_error_frames = max(self.max_error_frames, off_frames)
            coarseness = min(1.0, now.picture.scale)
            if off_px * coarseness <= MOTION_ERROR_PX and off_frames * coarseness <= MOTION_ERROR_FRAMES:
                continue
            if off_px > self._worst.get(mark.id, (0.0, None))[0]:
                seen = f"right edge at {reading.found_px:.1f} px in frame {frame}"
                self._worst[mark.id] = (off_px, Fault("motion", seen, f"{expected_px:.1f} px", mark=mark.id))


def _is_uneven(mark: Mark, now: Strips, start: Strips) -> bool:
    """Whether a bar that appears is complete at one end while the other end shows nothing of it."""
    rows = probe_strips(mark)[0]
    scale, full = now.picture.scale, levels(mark.colour)[0]
    near, far = (value * scale for value in _END_SAMPLE_PX)
    x0, x1 = mark.x0_px * scale, mark.x1_px * scale
    ends = [slice(int(x0 + near), int(x0 + far)), slice(int(x1 - far), int(x1 - near))]
    empty = [float(np.median(start.at(rows)[end])) for end in ends]
    shown = [float(np.median(now.at(rows)[end])) for end in ends]
    if min(abs(full - level) for level in empty) < _END_CONTRAST_MIN:
        return False
    complete = [abs(level - full) < _SAME_LEVEL for level in shown]
    untouched = [abs(level - before) < _SAME_LEVEL for level, before in zip(shown, empty, strict=True)]
    return (complete[0] and untouched[1]) or (complete[1] and untouched[0])

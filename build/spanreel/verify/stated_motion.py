"""Motions as the ledger states them: without jumps, at one speed, and at the factor in print."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from scenes.ledger import Mark, Motion, Pause, Segment
from spanreel.verify.faults import Fault
from spanreel.verify.rows import fit_of_ledger
from spanreel.verify.words import is_replay_factor

_SPEED_SHARE = 0.02
_SAME_PX = 0.01
_PACE_FROM_FRAMES = 3


def stated_motion_faults(segment: Segment, before: Pause | None, after: Pause, fps: int) -> Iterator[Fault]:
    """Hold the motions of a segment to the pauses at both ends.

    Args:
        segment: What moves.
        before: The pause that it starts from.
        after: The pause that it ends in.
        fps: Frames a second.
    """
    old_marks = {mark.id: mark for mark in before.marks} if before else {}
    by_mark: dict[str, list[Motion]] = {}
    for motion in sorted(segment.motions, key=lambda m: (m.mark, m.first_frame)):
        by_mark.setdefault(motion.mark, []).append(motion)
    for mark in after.marks:
        motions, old = by_mark.get(mark.id, []), old_marks.get(mark.id)
        if motions:
            yield from _chain_faults(mark, old.x1_px if old else mark.x0_px, motions)
        elif before and old and mark.kind in ("bar", "hairline") and _same_scale(mark, before, after):
            yield from _moved_faults(old, mark)
    yield from _pace_faults(segment, before, after, fps)


def px_per_frame(motion: Motion) -> float:
    """Return how fast an edge moves."""
    return (motion.to_px - motion.from_px) / max(1e-9, motion.last_frame - motion.first_frame)


def stated_factor(words: str) -> float | None:
    """Return the factor that a text such as ``×10 speed`` or ``1/5 speed`` states."""
    for word in words.replace(",", " ").split():
        if word.startswith("×"):
            return float(word[1:])
        if word.startswith("1/"):
            return 1 / float(word[2:])
    return None


def _chain_faults(mark: Mark, start_px: float, motions: list[Motion]) -> Iterator[Fault]:
    """The motions of a mark lead without a jump from where it stood to where it stands, at one speed."""
    stations = [start_px] + [x for motion in motions for x in (motion.from_px, motion.to_px)] + [mark.x1_px]
    for left_off, goes_on in zip(stations[0::2], stations[1::2], strict=True):
        if abs(left_off - goes_on) > _SAME_PX:
            jump = f"jumps from {left_off:.1f} to {goes_on:.1f} px"
            yield Fault("motion", jump, "growth without a jump", mark=mark.id)
    if any(later.first_frame < earlier.last_frame for earlier, later in pairwise(motions)):
        yield Fault("motion", "two motions at once", "one after another", mark=mark.id)
    speeds = [px_per_frame(m) for m in motions if m.last_frame - m.first_frame > 1]
    if speeds and max(speeds) - min(speeds) > _SPEED_SHARE * max(map(abs, speeds)):
        yield Fault("motion", f"speeds {min(speeds):.2f} to {max(speeds):.2f} px a frame", "one speed", mark=mark.id)


def _moved_faults(old: Mark, new: Mark) -> Iterator[Fault]:
    if abs(old.x0_px - new.x0_px) > _SAME_PX or abs(old.x1_px - new.x1_px) > _SAME_PX:
        change = f"x {old.x0_px:.1f}–{old.x1_px:.1f} became {new.x0_px:.1f}–{new.x1_px:.1f} px"
        yield Fault("motion", change, "a motion in the ledger", mark=new.id)


def _same_scale(mark: Mark, before: Pause, after: Pause) -> bool:
    """Whether the mark's axis is the same at both pauses."""
    old, new = ({axis.id: [t.x_px for t in axis.ticks] for axis in pause.axes}.get(mark.axis)
                for pause in (before, after))  # fmt: skip
    return old is not None and old == new


def _pace_faults(segment: Segment, before: Pause | None, after: Pause, fps: int) -> Iterator[Fault]:
    """Hold the pace of the longest growth to the factor in print, where one stands at either pause."""
    longest = max(segment.motions, key=lambda m: m.last_frame - m.first_frame, default=None)
    mark = next((mark for mark in after.marks if longest and mark.id == longest.mark), None)
    axis = next((axis for axis in after.axes if mark and axis.id == mark.axis), None)
    if longest is None or mark is None or axis is None or longest.last_frame - longest.first_frame < _PACE_FROM_FRAMES:
        return
    printed = [text.text for pause in (before, after) if pause for text in pause.texts if is_replay_factor(text.text)]
    stated = stated_factor(printed[0]) if printed else None
    speed = px_per_frame(longest) * fps / fit_of_ledger(axis).px_per_ns / 1e9
    if stated is not None and abs(speed / stated - 1) > _SPEED_SHARE:
        yield Fault(
            "motion", f"the trace plays at {speed:.3g} times real time", f"×{stated:.3g} as printed", mark=mark.id
        )

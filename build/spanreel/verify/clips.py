"""One clip of the film held to its ledger and its trace."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from scenes.ledger import Clip
from spanreel.verify.bound import coverage_faults, markers, resolve_marks
from spanreel.verify.faults import Fault, located
from spanreel.verify.figures import FigureReader
from spanreel.verify.film import Shown
from spanreel.verify.geometry import geometry_faults
from spanreel.verify.glyphs import glyph_faults
from spanreel.verify.ink import ink_faults
from spanreel.verify.motion import SegmentWatch
from spanreel.verify.pauses import check_pause
from spanreel.verify.picture import Picture
from spanreel.verify.subjects import find_subjects
from spanreel.verify.words import label_faults, layout_faults
from traces import TraceSet

_HOLD_CHANGE_MAX = 48
"""How far a pixel may change in a hold; the film's coding never does."""


@dataclass
class ClipCheck:
    """What was found in a clip."""

    faults: list[Fault] = field(default_factory=list)
    bars: int = 0
    bound: int = 0
    texts: int = 0
    text_faults: int = 0
    markers: list[dict[str, str | int]] = field(default_factory=list)
    max_error_px: float = 0.0
    max_error_frames: float = 0.0


class ClipWatch:
    """Checks a clip while its pictures go by.

    Args:
        clip: Its ledger.
        folder: Its folder, for the bitmaps of its texts.
        first_frames: Frame of the film at which each segment begins.
        trace_set: The measurements.
        colours: The colours of bars.
        reader: Reads the figures of texts, if it can be had.
    """

    def __init__(
        self,
        clip: Clip,
        folder: Path,
        first_frames: list[int],
        trace_set: TraceSet,
        colours: Iterable[str],
        reader: FigureReader | None = None,
    ) -> None:
        self._clip, self._folder, self._first_frames = clip, folder, first_frames
        self._trace_set, self._colours = trace_set, frozenset(colours)
        self._reader = reader
        self.check = ClipCheck()
        self._subjects, faults = find_subjects(clip, trace_set)
        self.check.faults += located(faults, clip.clip)
        self.check.faults += coverage_faults(clip, self._subjects)
        self.check.markers = list(markers(clip, self._subjects))
        self._watches = [
            SegmentWatch(segment, clip.pauses[i - 1] if i else None, clip.pauses[i], clip.fps)
            for i, segment in enumerate(clip.segments)
        ]
        self._still: Picture | None = None
        self._seen: set[int] = set()

    def see(self, shown: Shown) -> None:
        """Look at a picture of the film."""
        for index, (first, segment) in enumerate(zip(self._first_frames, self._clip.segments, strict=True)):
            end = first + segment.num_frames
            if shown.last_frame >= first and shown.first_frame < end:
                self._watches[index].see(shown.picture, max(0, shown.first_frame - first),
                                         min(end - 1, shown.last_frame) - first)  # fmt: skip
                if shown.last_frame >= end - 1:
                    self._see_pause(index, shown.picture)
                return
        self._see_hold(shown)

    def finish(self) -> ClipCheck:
        """Return what was found, after the last picture."""
        check, name = self.check, self._clip.clip
        for index, watch in enumerate(self._watches):
            pause = self._clip.pauses[index].name
            check.faults += located(watch.faults(), name, f"before {pause}")
            check.max_error_frames = max(check.max_error_frames, watch.max_error_frames)
            if index not in self._seen:
                check.faults.append(Fault("missing", "its picture is not in the film", clip=name, where=pause))
        check.text_faults = sum(fault.kind in ("text", "label") for fault in check.faults)
        return check

    def _see_pause(self, index: int, picture: Picture) -> None:
        clip, check = self._clip, self.check
        pause = clip.pauses[index]
        self._seen.add(index)
        self._still = picture
        measured, faults = resolve_marks(pause, self._subjects)
        if senseless := [*geometry_faults(pause)]:
            check.faults += located([*faults, *senseless], clip.clip, pause.name)
            return
        result = check_pause(pause, measured, picture)
        faults += result.faults
        faults += ink_faults(pause, picture, self._colours)
        faults += label_faults(pause, clip, self._subjects, self._trace_set)
        faults += layout_faults(pause)
        faults += glyph_faults(pause, self._folder, picture, self._reader)
        check.faults += located(faults, clip.clip, pause.name)
        wrong = {fault.mark for fault in faults}
        bars = [mark for mark in pause.marks if mark.kind == "bar"]
        check.bars += len(bars)
        check.bound += sum(mark.id in measured and mark.id not in wrong for mark in bars)
        check.texts += len(pause.texts)
        check.max_error_px = max(check.max_error_px, result.max_error_px)
        check.markers += [{"clip": clip.clip, "pause": pause.name, "mark": mark} for mark in result.unread]

    def _see_hold(self, shown: Shown) -> None:
        """A held picture is the pause's picture."""
        if self._still is None:
            return
        before, now = (picture.luma[::4, ::4].astype(np.int16) for picture in (self._still, shown.picture))
        if int(np.abs(before - now).max()) > _HOLD_CHANGE_MAX:
            fault = Fault("motion", "the picture changes while it is held", "a still picture")
            self.check.faults += located([fault], self._clip.clip, f"frame {shown.first_frame}")

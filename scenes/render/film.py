"""The film of a clip: one segment after another, each a file of its own."""

from __future__ import annotations

from pathlib import Path

from scenes.render.camera import Pixels
from scenes.render.segment import SegmentWriter
from scenes.render.yuv import PixelRect


class SegmentFilm:
    """Takes frames and cuts them into ``segment_0.mp4``, ``segment_1.mp4`` … in a folder."""

    def __init__(self, folder: Path, width: int, height: int, fps: int) -> None:
        self._folder = folder
        self._size = width, height, fps
        self._count = 0
        self._writer: SegmentWriter | None = None

    @property
    def num_frames(self) -> int:
        """Frames of the segment so far."""
        return self._writer.num_frames if self._writer else 0

    def show(self, pixels: Pixels, rects: list[PixelRect] | None) -> None:
        """Add a frame that changed in ``rects``, or everywhere if that is None."""
        if self._writer is None:
            self._writer = SegmentWriter(self._folder / self._file, *self._size)
        self._writer.show(pixels, rects)

    def hold(self, frames: int) -> None:
        """Let the last picture stay."""
        if self._writer and frames > 0:
            self._writer.hold(frames)

    def cut(self) -> tuple[str, int]:
        """End the segment; return its file's name and its number of frames."""
        if self._writer is None:
            raise ValueError("a segment has at least one frame")
        file, frames = self._file, self._writer.close()
        self._writer = None
        self._count += 1
        return file, frames

    def abort(self) -> None:
        """Let go of the segment that is being written."""
        if self._writer:
            self._writer.abort()

    @property
    def _file(self) -> str:
        return f"segment_{self._count}.mp4"

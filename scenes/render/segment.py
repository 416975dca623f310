"""One segment of film as a file: H.264, written frame by frame, without threads and without a queue."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
from av.video.frame import PictureType
from numpy.typing import NDArray

from scenes.render.yuv import PixelRect, YuvFrame

KEYFRAME_S = 12
_OPTIONS = {
    "preset": "veryfast",
    "profile": "high",
    "crf": "23",
    "bf": "0",
    "threads": "1",
    "x264-params": "scenecut=0:keyint=infinite",
}
_BT709 = 1
_LIMITED_RANGE = 1


class SegmentWriter:
    """Writes one file. A picture that stays is one frame that lasts; there are no B-frames, so times stay true.

    Args:
        path: The file.
        width, height: Size in pixels, even.
        fps: Frames a second.
    """

    def __init__(self, path: Path, width: int, height: int, fps: int) -> None:
        self.num_frames = 0
        """How many frames the film has so far, held ones counted as often as they are shown."""
        self._key_every = KEYFRAME_S * fps
        self._last_written = self._last_key = -1
        self._container = av.open(str(path), "w", format="mp4", options={"movflags": "+faststart"})
        stream: Any = self._container.add_stream("libx264", rate=fps, options=_OPTIONS)
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        context = stream.codec_context
        context.time_base = Fraction(1, fps)
        context.color_primaries = context.color_trc = context.colorspace = _BT709
        context.color_range = _LIMITED_RANGE
        self._stream = stream
        self._picture = YuvFrame(width, height)
        self._time_base = Fraction(1, fps)

    def show(self, pixels: NDArray[np.uint8], rects: list[PixelRect] | None) -> None:
        """Add a frame: the picture before it, changed in ``rects``, or everywhere if that is None."""
        if rects != [] or self.num_frames == 0:
            self._picture.update(pixels, rects)
            self._encode(self.num_frames)
        self.num_frames += 1

    def hold(self, frames: int) -> None:
        """Let the last picture stay."""
        self.num_frames += frames

    def close(self) -> int:
        """Finish the file and return its number of frames."""
        if self._last_written < self.num_frames - 1:
            self._encode(self.num_frames - 1)
        self._mux(None)
        self._container.close()
        return self.num_frames

    def abort(self) -> None:
        """Let go of a file that will not be used."""
        self._container.close()

    def _encode(self, index: int) -> None:
        frame = self._picture.frame
        frame.pts, frame.time_base, frame.duration = index, self._time_base, 1
        is_key = self._last_key < 0 or index - self._last_key >= self._key_every
        frame.pict_type = PictureType.I if is_key else PictureType.NONE
        if is_key:
            self._last_key = index
        self._last_written = index
        self._mux(frame)

    def _mux(self, frame: av.VideoFrame | None) -> None:
        for packet in self._stream.encode(frame):
            self._container.mux(packet)

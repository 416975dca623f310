"""Films for tests: pictures to H.264, the way the film's segments are written. No Manim, no Cairo."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray


def encode(frames: Iterable[NDArray[np.uint8]], path: Path, fps: int) -> int:
    """Write RGB pictures as a film and return how many there were."""
    count = 0
    with av.open(str(path), "w", format="mp4", options={"movflags": "+faststart"}) as container:
        stream = container.add_stream("libx264", rate=fps)
        stream.pix_fmt = "yuv420p"
        stream.options = {
            "preset": "veryfast", "crf": "23", "bf": "0", "threads": "1", "profile": "high",
            "x264-params": f"keyint={12 * fps}:scenecut=0",
        }  # fmt: skip
        for pixels in frames:
            if count == 0:
                stream.height, stream.width = pixels.shape[:2]
                context = stream.codec_context
                context.color_primaries = context.color_trc = context.colorspace = context.color_range = 1
            frame = av.VideoFrame.from_ndarray(pixels, format="rgb24").reformat(
                format="yuv420p", dst_colorspace="ITU709", dst_color_range="MPEG"
            )
            frame.pts = count
            frame.time_base = 1 / stream.average_rate
            container.mux(stream.encode(frame))
            count += 1
        container.mux(stream.encode())
    return count

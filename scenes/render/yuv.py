"""RGB to planar YUV 4:2:0, BT.709 in limited range, for a whole frame or for parts of it.

Integer arithmetic in 16 bits: the same bytes on every machine, and parts give what the whole would.
"""

from __future__ import annotations

import av
import numpy as np
from numpy.typing import NDArray

PixelRect = tuple[int, int, int, int]
"""x0, y0, x1, y1 in whole pixels."""


class YuvFrame:
    """A frame that is kept from picture to picture and converted only where the picture changed."""

    def __init__(self, width: int, height: int) -> None:
        self.frame = av.VideoFrame(width, height, "yuv420p")
        self._planes = [
            np.frombuffer(memoryview(plane), np.uint8).reshape(plane.height, plane.line_size)[:, : plane.width]
            for plane in self.frame.planes
        ]

    def update(self, pixels: NDArray[np.uint8], rects: list[PixelRect] | None) -> None:
        """Take over pixels.

        Args:
            pixels: height × width × 4, red first.
            rects: The parts that changed, on even pixels; None for the whole.
        """
        height, width = pixels.shape[:2]
        for x0, y0, x1, y1 in rects if rects is not None else [(0, 0, width, height)]:
            self._convert(pixels[y0:y1, x0:x1], x0, y0)

    def _convert(self, part: NDArray[np.uint8], x0: int, y0: int) -> None:
        height, width = part.shape[:2]
        luma, blue, red = self._planes
        r, g, b = (part[..., channel].astype(np.uint16) for channel in range(3))
        luma[y0 : y0 + height, x0 : x0 + width] = ((47 * r + 157 * g + 16 * b + 128) >> 8) + 16
        r2, g2, b2 = (_quarter(channel) for channel in (r, g, b))
        rows = slice(y0 // 2, (y0 + height) // 2)
        columns = slice(x0 // 2, (x0 + width) // 2)
        blue[rows, columns] = ((112 * b2 - 26 * r2 - 86 * g2 + 128) >> 8) + 128
        red[rows, columns] = ((112 * r2 - 102 * g2 - 10 * b2 + 128) >> 8) + 128


def _quarter(channel: NDArray[np.uint16]) -> NDArray[np.int16]:
    """Return the means of 2 × 2 pixels."""
    rows = channel[0::2] + channel[1::2]
    return ((rows[:, 0::2] + rows[:, 1::2] + 2) >> 2).astype(np.int16)

"""A decoded frame as planes of brightness and colour, read in px of the page."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import ceil, floor

import av
import numpy as np
from numpy.typing import NDArray

PAGE_HEIGHT_PX = 1080

Plane = NDArray[np.uint8]
Profile = NDArray[np.float32]


@cache
def levels(colour: str) -> tuple[float, float, float]:
    """Return brightness and the two colour differences of ``#rrggbb``, BT.709 in limited range."""
    red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    bright = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    return (
        16 + 219 * bright,
        128 + 224 * (blue - bright) / (2 * (1 - 0.0722)),
        128 + 224 * (red - bright) / (2 * (1 - 0.2126)),
    )


@dataclass(frozen=True)
class Picture:
    """One picture of the film."""

    luma: Plane
    blue: Plane
    """Half the size, like ``red``."""
    red: Plane
    scale: float
    """Pixels of the picture for one px of the page."""

    @classmethod
    def of(cls, frame: av.VideoFrame) -> Picture:
        """Read a decoded frame without copying it."""
        luma, blue, red = (
            np.frombuffer(memoryview(plane), np.uint8).reshape(plane.height, plane.line_size)[:, : plane.width]
            for plane in frame.planes
        )
        return cls(luma, blue, red, frame.height / PAGE_HEIGHT_PX)

    def rows(self, y0_px: float, y1_px: float) -> slice:
        """Return the rows of pixels that lie wholly between two heights, or the one that begins at the first."""
        first, end = ceil(y0_px * self.scale), floor(y1_px * self.scale)
        return slice(first, max(end, first + 1))

    def strip(self, y0_px: float, y1_px: float) -> Profile:
        """Return the mean brightness of each column between two heights."""
        return _mean_row(self.luma[self.rows(y0_px, y1_px)])

    def colour_strips(self, y0_px: float, y1_px: float) -> tuple[Profile, Profile]:
        """Return the mean colour differences of each second column between two heights."""
        rows = self.rows(y0_px, y1_px)
        half = slice(rows.start // 2, max(rows.start // 2 + 1, rows.stop // 2))
        return _mean_row(self.blue[half]), _mean_row(self.red[half])

    def colour(self, x0_px: float, x1_px: float, y0_px: float, y1_px: float) -> tuple[float, float, float]:
        """Return the median levels of a box that is a few pixels wide at least."""
        rows, columns = self.rows(y0_px, y1_px), slice(ceil(x0_px * self.scale), floor(x1_px * self.scale))
        half_rows = slice(rows.start // 2, max(rows.start // 2 + 1, rows.stop // 2))
        half_columns = slice((columns.start + 1) // 2, columns.stop // 2)
        return (
            float(np.median(self.luma[rows, columns])),
            float(np.median(self.blue[half_rows, half_columns])),
            float(np.median(self.red[half_rows, half_columns])),
        )


def _mean_row(part: Plane) -> Profile:
    total: Profile = part[0].astype(np.float32)
    for row in part[1:]:
        total += row
    return total / np.float32(len(part))

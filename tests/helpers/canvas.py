"""A plain picture for tests: boxes with exact sub-pixel edges, hatching, text, PNG and H.264. No Manim, no Cairo."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageColor, ImageDraw, ImageFont

PAGE_WIDTH_PX, PAGE_HEIGHT_PX = 1920, 1080
HATCH_PITCH_PX, HATCH_LINE_PX, OUTLINE_PX = 14, 4.5, 3

Pixels = NDArray[np.float32]


class Canvas:
    """Drawing in px of the 1920 × 1080 page, onto a picture of ``height_px`` rows."""

    def __init__(self, height_px: int, background: str) -> None:
        self.scale = height_px / PAGE_HEIGHT_PX
        width_px = round(PAGE_WIDTH_PX * self.scale)
        self.pixels: Pixels = np.empty((height_px, width_px, 3), np.float32)
        self.pixels[:] = ImageColor.getrgb(background)

    def copy(self) -> Canvas:
        """Return a picture that can be drawn on without changing this one."""
        twin = Canvas.__new__(Canvas)
        twin.scale, twin.pixels = self.scale, self.pixels.copy()
        return twin

    def box(self, x0: float, y0: float, x1: float, y1: float, colour: str, pattern: str = "solid") -> None:
        """Fill a box; a wait is a yellow outline inside the box and diagonal hatching."""
        rows = _coverage(y0 * self.scale, y1 * self.scale, self.pixels.shape[0])
        columns = _coverage(x0 * self.scale, x1 * self.scale, self.pixels.shape[1])
        cover = np.outer(rows, columns)
        if pattern == "wait":
            inner = np.outer(
                _coverage((y0 + OUTLINE_PX) * self.scale, (y1 - OUTLINE_PX) * self.scale, self.pixels.shape[0]),
                _coverage((x0 + OUTLINE_PX) * self.scale, (x1 - OUTLINE_PX) * self.scale, self.pixels.shape[1]),
            )
            y, x = np.mgrid[0 : cover.shape[0], 0 : cover.shape[1]] / self.scale
            cover = np.where(((x + y) % HATCH_PITCH_PX) < HATCH_LINE_PX, cover, cover - inner)
        self._blend(cover[..., None], np.asarray(ImageColor.getrgb(colour), np.float32))

    def caret(self, x: float, y: float, height: float, colour: str) -> None:
        """Fill a small triangle whose tip points up at (``x``, ``y``)."""
        for step in range(int(height)):
            self.box(x - step / 2, y + step, x + step / 2, y + step + 1, colour)

    def text(self, bitmap: Image.Image, x: float, y: float) -> None:
        """Lay a text bitmap with its top left corner at (``x``, ``y``), which is on the pixel grid of the picture."""
        left, top = round(x * self.scale), round(y * self.scale)
        rgba = np.asarray(bitmap, np.float32)
        part = self.pixels[top : top + rgba.shape[0], left : left + rgba.shape[1]]
        alpha = rgba[..., 3:] / 255
        part += (rgba[..., :3] - part) * alpha

    def _blend(self, cover: Pixels, colour: Pixels) -> None:
        self.pixels += (colour - self.pixels) * cover.astype(np.float32)

    def rgb(self) -> NDArray[np.uint8]:
        """The picture as 8-bit RGB."""
        return np.rint(self.pixels).astype(np.uint8)

    def save_png(self, path: Path) -> None:
        """Write the picture."""
        Image.fromarray(self.rgb()).save(path, compress_level=6)


def text_bitmap(text: str, size_px: float, colour: str, scale: float) -> Image.Image:
    """Return the ink of a text on a transparent ground, cut to its box."""
    font = ImageFont.load_default(size_px * scale)
    left, top, right, bottom = (int(v) for v in font.getbbox(text))
    bitmap = Image.new("RGBA", (max(1, right - left), max(1, bottom - top)), (*ImageColor.getrgb(colour), 0))
    ImageDraw.Draw(bitmap).text((-left, -top), text, font=font, fill=colour)
    return bitmap


def encode(frames: Iterable[NDArray[np.uint8]], path: Path, fps: int) -> int:
    """Write H.264 the way the film's segments are written, and return how many frames there were."""
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


def _coverage(start: float, end: float, size: int) -> Pixels:
    """Share of each of ``size`` unit cells that lies between ``start`` and ``end``."""
    cells = np.arange(size, dtype=np.float32)
    return np.clip(np.minimum(cells + 1, end) - np.maximum(cells, start), 0, 1).astype(np.float32)

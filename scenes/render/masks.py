"""Runs of text as coverage bitmaps: rasterised once by Manim's text through Cairo, then kept on disk by content.

A mask is monochrome, so that one bitmap serves every colour. Its place is known from the font's own tables, which
puts a text by baseline and advance instead of by the box of its ink.
"""

from __future__ import annotations

import hashlib
import os
import struct
import zlib
from dataclasses import dataclass, replace
from functools import cache
from math import ceil, floor
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import cairo
import numpy as np
from manim import MarkupText
from numpy.typing import NDArray

from scenes.render.errors import RenderInputError
from scenes.render.fonts import FAMILIES, fonts_identity, note_pango_use
from scenes.render.metrics import TextStyle, inked_indices, measure_run

_FORMAT = 3
_HEADER = struct.Struct("<IIii")
_WEIGHTS = {400: "NORMAL", 500: "MEDIUM", 600: "SEMIBOLD", 700: "BOLD"}
_EM_MANIM = 1 / 72
"""Height of one em in Manim's units, at font size 1."""
_LINE_LIMIT_EM = 1500.0
"""Manim breaks lines at a fixed width: the font size times the width in em stays below this."""
_LARGEST_FONT_SIZE = 200.0

_folder: Path | None = None


@dataclass(frozen=True, eq=False)
class Mask:
    """Coverage of a run; ``left`` and ``top`` place its corner against the pen, in whole pixels of the picture."""

    surface: cairo.ImageSurface
    alpha: NDArray[np.uint8]
    left: int
    top: int

    def __deepcopy__(self, memo: dict[int, Any]) -> Mask:
        return self


def keep_masks_in(folder: Path) -> None:
    """Choose the folder of the cache, created if absent."""
    global _folder
    folder.mkdir(parents=True, exist_ok=True)
    _folder = folder


def mask(text: str, style: TextStyle, scale: float) -> Mask | None:
    """Return the mask of a run at ``scale`` pixels to a px of the page; None if it has no ink.

    Raises:
        RenderInputError: A character has no glyph.
    """
    return _mask(text, replace(style, colour=""), scale)


@cache
def _mask(text: str, style: TextStyle, scale: float) -> Mask | None:
    if measure_run(text, style).ink_px is None:
        return None
    path = _cache_path(text, style, scale)
    found = _read(path) if path else None
    if found is None:
        found = _rasterise(text, style, scale)
        if path:
            _write(path, found)
    return found


def _rasterise(text: str, style: TextStyle, scale: float) -> Mask:
    size = measure_run(text, style)
    if size.ink_px is None:
        raise ValueError("a run without ink has no mask")
    x0, y0, x1, y1 = (edge * scale for edge in size.ink_px)
    left, top = floor(x0) - 1, floor(y0) - 1
    width, height = ceil(x1) + 1 - left, ceil(y1) + 1 - top
    surface = cairo.ImageSurface(cairo.FORMAT_A8, width, height)
    context = cairo.Context(surface)
    context.translate(x0 - left, y1 - top)
    _fill_outline(context, text, style, scale, size.width_px)
    surface.flush()
    rows = np.frombuffer(surface.get_data(), np.uint8).reshape(height, surface.get_stride())
    return _from_alpha(np.ascontiguousarray(rows[:, :width]), left, top)


def _fill_outline(context: Any, text: str, style: TextStyle, scale: float, width_px: float) -> None:
    """Fill the run's outlines with the lower left corner of its ink at the origin."""
    font_size = min(_LARGEST_FONT_SIZE, _LINE_LIMIT_EM * style.size_px / max(width_px, style.size_px))
    note_pango_use()
    features = f"kern=1,ccmp=0,calt=0,liga=0,clig=0,tnum={int(style.tabular)}"
    outline = MarkupText(
        f'<span font_features="{features}">{escape(text)}</span>',
        font=FAMILIES[style.font],
        weight=_WEIGHTS[style.weight],
        font_size=font_size,
        warn_missing_font=False,
    )
    em = _EM_MANIM * font_size
    context.scale(style.size_px * scale / em, -style.size_px * scale / em)
    context.translate(-outline.get_left()[0], -outline.get_bottom()[1])
    indices = inked_indices(text, style)
    glyphs = outline.family_members_with_points()
    if len(glyphs) != len(indices):
        raise RenderInputError(f"text {text!r}: {len(indices)} characters came out as {len(glyphs)} glyphs; change it")
    for index, glyph in zip(indices, glyphs, strict=True):
        tracking = (index - indices[0]) * style.tracking_em * em
        for subpath in glyph.get_subpaths():
            points = subpath[:, :2] + (tracking, 0)
            context.move_to(*points[0])
            for first in range(0, len(points), 4):
                context.curve_to(*points[first + 1 : first + 4].ravel())
            context.close_path()
    context.fill()


def _from_alpha(alpha: NDArray[np.uint8], left: int, top: int) -> Mask:
    height, width = alpha.shape
    stride = cairo.ImageSurface.format_stride_for_width(cairo.FORMAT_A8, width)
    rows = np.zeros((height, stride), np.uint8)
    rows[:, :width] = alpha
    surface = cairo.ImageSurface.create_for_data(rows.data, cairo.FORMAT_A8, width, height, stride)
    return Mask(surface, alpha, left, top)


def _cache_path(text: str, style: TextStyle, scale: float) -> Path | None:
    if _folder is None:
        return None
    key = repr((_FORMAT, fonts_identity(), text, style, scale))
    return _folder / f"{hashlib.sha256(key.encode()).hexdigest()}.mask"


def _read(path: Path) -> Mask | None:
    """Return the mask of a cache file, or None if there is none or it is not whole."""
    try:
        data = path.read_bytes()
        digest, body = data[:32], data[32:]
        if hashlib.sha256(body).digest() != digest:
            return None
        width, height, left, top = _HEADER.unpack_from(body)
        alpha = np.frombuffer(zlib.decompress(body[_HEADER.size :]), np.uint8)
    except (OSError, struct.error, zlib.error):
        return None
    return _from_alpha(alpha.reshape(height, width), left, top)


def _write(path: Path, made: Mask) -> None:
    height, width = made.alpha.shape
    body = _HEADER.pack(width, height, made.left, made.top) + zlib.compress(made.alpha.tobytes(), 6)
    staged = path.with_name(f".{path.stem}.{os.getpid()}.part")
    staged.write_bytes(hashlib.sha256(body).digest() + body)
    os.replace(staged, path)

"""A camera that draws our own mobjects directly and leaves every other kind to Manim, in one order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from math import ceil, floor
from typing import Any

import cairo
import numpy as np
from manim import Camera, Mobject
from numpy.typing import NDArray

from scenes.render.drawn import Brush, Drawn, Rect
from scenes.render.labels import PAGE_HEIGHT_PX
from scenes.render.yuv import PixelRect

Pixels = NDArray[np.uint8]
_Seen = tuple[tuple[Any, ...], Rect]


class PageCamera(Camera):
    """Draws pages. ``pixel_array`` is one array for the whole render, changed in place."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        surface = cairo.ImageSurface.create_for_data(
            self.pixel_array.data, cairo.FORMAT_ARGB32, self.pixel_width, self.pixel_height
        )
        self.brush = Brush(surface, self.pixel_height / PAGE_HEIGHT_PX)
        self._seen: dict[int, _Seen] = {}

    def draw_page(self, mobjects: Iterable[Mobject], ground: Pixels | None = None) -> None:
        """Draw mobjects in order over a picture, or over the background."""
        np.copyto(self.pixel_array, self.background if ground is None else ground)
        self._draw(flat(mobjects))

    def start_watching(self, mobjects: Iterable[Mobject]) -> None:
        """Remember how these look on the page just drawn, so that the next redraw can tell what changed."""
        self._seen = {id(part): _look(part) for part in flat(mobjects) if isinstance(part, Drawn)}

    def redraw(self, mobjects: Iterable[Mobject], ground: Pixels) -> list[PixelRect] | None:
        """Draw mobjects that may have changed since the last page, where they changed.

        Returns:
            The parts of the picture that changed, on even pixels; None if everything was drawn anew.
        """
        parts = list(flat(mobjects))
        rects = self._changed(parts)
        if rects is None:
            self.draw_page(parts, ground)
            self.start_watching(parts)
            return None
        context = self.brush.context
        context.save()
        context.identity_matrix()
        for x0, y0, x1, y1 in rects:
            self.pixel_array[y0:y1, x0:x1] = ground[y0:y1, x0:x1]
            context.rectangle(x0, y0, x1 - x0, y1 - y0)
        context.clip()
        context.scale(self.brush.scale, self.brush.scale)
        if rects:
            self._draw(parts)
        context.restore()
        return rects

    def _changed(self, parts: list[Mobject]) -> list[PixelRect] | None:
        dirty: list[Rect] = []
        for part in parts:
            if not isinstance(part, Drawn) or id(part) not in self._seen:
                return None
            before, extent = self._seen[id(part)]
            now = _look(part)
            if now[0] != before:
                dirty += part.dirty(before, extent)
                self._seen[id(part)] = now
        rects = [rect for rect in map(self._pixels, dirty) if rect[0] < rect[2] and rect[1] < rect[3]]
        area = sum((x1 - x0) * (y1 - y0) for x0, y0, x1, y1 in rects)
        return rects if area < self.pixel_width * self.pixel_height / 2 else None

    def _pixels(self, rect: Rect) -> PixelRect:
        """Return the even pixels around a rectangle of the page, cut at the picture's edges."""
        x0, y0, x1, y1 = (edge * self.brush.scale for edge in rect)
        return (
            max(0, floor(x0) - 1) & ~1,
            max(0, floor(y0) - 1) & ~1,
            min(self.pixel_width, ceil(x1) + 2) & ~1,
            min(self.pixel_height, ceil(y1) + 2) & ~1,
        )

    def _draw(self, parts: Iterable[Mobject]) -> None:
        for ours, group in groupby(parts, key=lambda part: isinstance(part, Drawn)):
            if ours:
                for part in group:
                    part.draw(self.brush)
            else:
                self.capture_mobjects(list(group), include_submobjects=False)


def flat(mobjects: Iterable[Mobject]) -> Iterator[Mobject]:
    """Yield mobjects and their parts in the order of drawing, those without points left out, each once."""
    done: set[int] = set()
    for mobject in mobjects:
        for part in mobject.get_family():
            if id(part) not in done and len(part.points):
                done.add(id(part))
                yield part


def _look(part: Drawn) -> _Seen:
    return part.state(), part.extent()

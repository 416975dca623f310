"""What the camera draws directly: a Manim mobject whose points are px of the page, and the brush that paints it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import cairo
import numpy as np
from manim import Mobject

from scenes.render.marks import MarkInfo
from scenes.render.masks import Mask

Rect = tuple[float, float, float, float]
"""x0, y0, x1, y1 in px of the page."""


@cache
def rgb(colour: str) -> tuple[float, float, float]:
    """Return a ``#rrggbb`` colour as shares of 1.

    Raises:
        ValueError: It is not of that form.
    """
    if len(colour) != 7 or colour[0] != "#":
        raise ValueError(f"{colour!r} is not a colour of the form #rrggbb")
    red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return red, green, blue


class Brush:
    """A Cairo context in px of the page, onto pixels in Manim's order (red first, which Cairo takes for blue)."""

    def __init__(self, surface: cairo.ImageSurface, scale: float) -> None:
        self.context = cairo.Context(surface)
        self.context.scale(scale, scale)
        self.scale = scale

    def colour(self, colour: str) -> None:
        """Choose the colour of what is painted next."""
        red, green, blue = rgb(colour)
        self.context.set_source_rgb(blue, green, red)

    def stamp(self, mask: Mask, x_px: float, y_px: float) -> None:
        """Paint a mask with its pen at a point, moved to the nearest whole pixel so that letters stay crisp."""
        with self._pixels():
            left = round(x_px * self.scale) + mask.left
            self.context.mask_surface(mask.surface, left, round(y_px * self.scale) + mask.top)

    @contextmanager
    def layer(self, extent: Rect, opacity: float) -> Iterator[None]:
        """Paint what follows as one thing of that opacity."""
        x0, y0, x1, y1 = extent
        self.context.save()
        self.context.rectangle(x0, y0, x1 - x0, y1 - y0)
        self.context.clip()
        self.context.push_group()
        yield
        self.context.pop_group_to_source()
        self.context.paint_with_alpha(opacity)
        self.context.restore()

    @contextmanager
    def _pixels(self) -> Iterator[None]:
        self.context.save()
        self.context.identity_matrix()
        yield
        self.context.restore()


class Drawn(Mobject):
    """Base of what is drawn directly. Manim moves its points; ``opacity`` fades it."""

    def __init__(self, points: list[tuple[float, float]], opacity: float = 1.0, mark: MarkInfo | None = None) -> None:
        super().__init__()
        self.points = np.array([(x, y, 0.0) for x, y in points])
        if not np.isfinite(self.points).all():
            raise ValueError(f"{type(self).__name__} has a point that is not a number: {points}")
        self.opacity = opacity
        self.mark = mark
        """What it stands for; nothing but decoration without one."""

    @property
    def edges(self) -> Rect:
        """x0, y0, x1, y1 of its points as they are now."""
        x, y = self.points[:, 0], self.points[:, 1]
        return float(x.min()), float(y.min()), float(x.max()), float(y.max())

    @property
    def mark_colour(self) -> str:
        """The colour that a mark is recognised by."""
        raise NotImplementedError

    def shift_y(self, dy: float) -> None:
        """Place it higher or lower."""
        self.points = self.points + np.array((0.0, dy, 0.0))

    def paint(self, brush: Brush) -> None:
        """Draw it as if it were opaque."""
        raise NotImplementedError

    def extent(self) -> Rect:
        """Return a box around everything that it inks."""
        raise NotImplementedError

    def state(self) -> tuple[Any, ...]:
        """Return everything that decides how it looks; equal states look alike."""
        return (self.opacity, *self.points[:, :2].ravel().tolist())

    def dirty(self, before: tuple[Any, ...], extent_before: Rect) -> list[Rect]:
        """Return what must be redrawn, given that its state was ``before``."""
        return [extent_before, self.extent()]

    def draw(self, brush: Brush) -> None:
        """Draw it with its opacity."""
        if self.opacity >= 1:
            self.paint(brush)
        elif self.opacity > 0:
            with brush.layer(self.extent(), self.opacity):
                self.paint(brush)

    def fade(self, darkness: float = 0.5, family: bool = True) -> Drawn:
        """Take a share of the opacity away (Manim's own fades call this)."""
        self.opacity *= 1 - darkness
        return self

    def interpolate_color(self, mobject1: Drawn, mobject2: Drawn, alpha: float) -> Drawn:
        """Take an opacity between those of two mobjects (Manim's own transforms call this)."""
        self.opacity = mobject1.opacity + (mobject2.opacity - mobject1.opacity) * alpha
        return self

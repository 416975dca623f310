"""Manim's Cairo renderer with our camera, without queue, cache or copies of frames."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

import numpy as np
from manim import CairoRenderer, Mobject, Scene
from manim.scene.scene_file_writer import SceneFileWriter

from scenes.render.camera import PageCamera, Pixels
from scenes.render.yuv import PixelRect


class Film(Protocol):
    """Where frames go."""

    @property
    def num_frames(self) -> int:
        """Frames of the segment so far."""

    def show(self, pixels: Pixels, rects: list[PixelRect] | None) -> None:
        """Add a frame that changed in ``rects``, or everywhere."""

    def hold(self, frames: int) -> None:
        """Let the last picture stay."""


class _NoFiles(SceneFileWriter):
    """Manim's own writer, kept from writing: frames go to the film."""

    def add_partial_movie_file(self, hash_animation: str | None) -> None:
        pass

    def begin_animation(self, *args: Any, **options: Any) -> None:
        pass

    def end_animation(self, *args: Any, **options: Any) -> None:
        pass


class PageRenderer(CairoRenderer):
    """Draws each frame of a play onto what stood still, only where it changed, and hands it to the film.

    Args:
        film: Where frames go; None skips every play to its end and draws nothing in between.
    """

    camera: PageCamera

    def __init__(self, film: Film | None, fps: int) -> None:
        super().__init__(file_writer_class=_NoFiles, camera_class=PageCamera, skip_animations=film is None)
        self.film = film
        self.fps = fps
        self._ground: Pixels = self.camera.pixel_array.copy()
        self._watching = False

    def save_static_frame_data(self, scene: Scene, static_mobjects: Iterable[Mobject]) -> None:
        """Draw what stands still during the play that begins."""
        if self.skip_animations:
            return
        self.camera.draw_page(static_mobjects)
        np.copyto(self._ground, self.camera.pixel_array)
        self._watching = False

    def render(self, scene: Scene, time: float, moving_mobjects: Iterable[Mobject] | None = None) -> None:
        """Draw one frame of a play."""
        if self.film is None:
            return
        moving = list(moving_mobjects or [])
        if self._watching:
            rects = self.camera.redraw(moving, self._ground)
        else:
            self.camera.draw_page(moving, self._ground)
            rects = None
            self._watching = True
            self.camera.start_watching(moving)
        self.film.show(self.camera.pixel_array, rects)

    def update_frame(self, scene: Scene, mobjects: Iterable[Mobject] | None = None, **options: Any) -> None:
        """Draw moving mobjects over what stands still (Manim calls this before a hold)."""
        if self.film is not None:
            self.camera.draw_page(mobjects or [], self._ground)

    def freeze_current_frame(self, duration: float) -> None:
        """Show the picture for a whole number of frames."""
        if self.film is not None:
            opening = int(self.film.num_frames == 0)
            self.film.show(self.camera.pixel_array, None)
            self.film.hold(round(duration * self.fps) - 1 + opening)

    def draw_whole(self, scene: Scene) -> Pixels:
        """Draw the page as it stands now and return its pixels, which the next drawing overwrites."""
        self.camera.draw_page(scene.mobjects)
        pixels: Pixels = self.camera.pixel_array
        return pixels

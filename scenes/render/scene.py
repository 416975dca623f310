"""A clip: a Manim scene that is cut into segments at its pauses and keeps a ledger of what it drew."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from manim import Mobject, Scene
from tqdm import tqdm

from scenes import ledger
from scenes.job import RenderJob
from scenes.render.animations import LinearInTime
from scenes.render.camera import flat
from scenes.render.drawn import Drawn
from scenes.render.edges import EdgeWatch
from scenes.render.film import SegmentFilm
from scenes.render.recorder import Recorder
from scenes.render.renderer import PageRenderer
from scenes.theme import Theme
from traces import TraceSet
from traces.bindings import Subject


class ClipScene(Scene):
    """Base of all clips; ``construct`` adds, plays and pauses.

    Frame 0 of a segment shows the picture before its first animation; each play adds its frames, the last of which
    shows the finished state. So a segment's last frame is its pause's still, and the next begins with it.

    Args:
        job: What to draw.
        trace_set: The measurements.
        theme: Colours and measures.
        on_segment: Called with the number of pauses so far, after each.
    """

    renderer: PageRenderer

    def __init__(
        self, job: RenderJob, trace_set: TraceSet, theme: Theme, on_segment: Callable[[int], None] | None = None
    ) -> None:
        self.job = job
        self.trace_set = trace_set
        self.theme = theme
        self._folder = Path(job.out_dir)
        self._fps = theme.motion.fps
        self._width_px = round(job.height_px * theme.page.width_px / theme.page.height_px)
        self._film = SegmentFilm(self._folder, self._width_px, job.height_px, self._fps) if job.mode == "film" else None
        self._recorder = Recorder(self._folder, theme.colour.background)
        self._edges = EdgeWatch()
        self._on_segment = on_segment
        super().__init__(renderer=PageRenderer(self._film, self._fps))

    def axis(self, axis: ledger.Axis) -> None:
        """Register an axis, or one of the same id anew; it is in the ledger from the next pause on."""
        self._recorder.axes[axis.id] = axis

    def drop_axis(self, axis_id: str) -> None:
        """Take an axis out of the ledger: it is not on the page any more."""
        del self._recorder.axes[axis_id]

    def source(self, key: str, experiment_id: str, arm_id: str) -> Subject:
        """Register the request that an arm's rule chose, under the key that marks and values name.

        Raises:
            TraceError: The set has no such experiment or arm.
        """
        subject = Subject.exemplar(self.trace_set.experiment(experiment_id), arm_id)
        self._recorder.sources[key] = ledger.Source(
            key, experiment_id, arm_id, subject.arm.exemplar.run, subject.request.id,
            self.trace_set.sha256[experiment_id],
        )  # fmt: skip
        return subject

    def pause(self, name: str, notes: str = "", alt: str = "", caption: str = "") -> None:
        """End the segment; the picture of this moment is its still.

        Args:
            name: Unique in the clip.
            notes: What the speaker says here.
            alt: What the still says, in words.
            caption: What the segment shows, in words.

        Raises:
            RenderError: A mark moved other than linearly in time, or what is on the page cannot be recorded.
        """
        self._edges.check(self._drawn())
        film = self._film
        if film is None:
            pixels = self.renderer.draw_whole(self)
        else:
            last = self.renderer.camera.pixel_array.copy()
            pixels = self.renderer.draw_whole(self)
            if film.num_frames == 0 or not np.array_equal(last, pixels):
                film.show(pixels, None)
            self._recorder.segment(*film.cut(), caption)
        self._recorder.pause(name, pixels, self._drawn(), notes, alt)
        if self._on_segment:
            self._on_segment(len(self._recorder.pauses))

    def write_ledger(self) -> None:
        """Write ``clip.json``, after everything that it names."""
        recorder = self._recorder
        clip = ledger.Clip(
            ledger.LEDGER_VERSION, self.job.clip, self.job.unit_hash, self._width_px, self.job.height_px, self._fps,
            list(recorder.sources.values()), recorder.pauses, recorder.segments,
        )  # fmt: skip
        staged = self._folder / ".clip.json.part"
        staged.write_bytes(msgspec.json.encode(clip, order="sorted") + b"\n")
        staged.replace(self._folder / "clip.json")

    def abort(self) -> None:
        """Let go of a file that is being written."""
        if self._film:
            self._film.abort()

    def play(self, *animations: Any, **options: Any) -> None:
        """Play animations, each for a whole number of frames.

        Raises:
            ValueError: A run time is not a whole number of frames, or growth in time is not linear.
            RenderError: A mark moved other than linearly in time.
        """
        super().play(*animations, **options)
        self._accept_growth()

    def begin_animations(self) -> None:
        """Check what is about to move, and note motions (Manim calls this when a play starts)."""
        self._edges.check(self._drawn())
        on_page = set(self._drawn())
        first_frame = max(0, self._film.num_frames - 1) if self._film else 0
        for animation in self.animations or []:
            self._whole_frames(animation.run_time)
        for growth in self._growths():
            growth.require_linear(on_page)
            for edge in growth.motions(self._whole_frames(growth.run_time)):
                self._recorder.motion(edge, first_frame)
        super().begin_animations()
        self._accept_growth()
        self._edges.check(self._drawn())

    def get_time_progression(
        self,
        run_time: float,
        description: str,
        n_iterations: int | None = None,
        override_skip_animations: bool = False,
    ) -> tqdm[float]:
        """Return the times of a play's frames; the last is its end, the first of a segment its start."""
        if self._film is None:
            return tqdm([run_time], disable=True)
        frames = self._whole_frames(run_time)
        first = 0 if self._film.num_frames == 0 else 1
        return tqdm([run_time * (i / frames) for i in range(first, frames + 1)], disable=True)

    def _whole_frames(self, run_time: float) -> int:
        frames = round(run_time * self._fps)
        if frames < 1 or abs(frames - run_time * self._fps) > 1e-6:
            raise ValueError(f"run time {run_time:g} s is not a whole number of frames at {self._fps} a second")
        return frames

    def _growths(self) -> list[LinearInTime]:
        return [animation for animation in self.animations or [] if isinstance(animation, LinearInTime)]

    def _accept_growth(self) -> None:
        for growth in self._growths():
            for box in growth.boxes:
                self._edges.accept(box)

    def _drawn(self) -> list[Drawn]:
        return [part for part in flat(self.mobjects) if isinstance(part, Drawn)]


def group(*mobjects: Mobject) -> Mobject:
    """Return mobjects as one, drawn in this order."""
    return Mobject().add(*mobjects)

"""One render job from file to folder. Manim is imported only after the fonts are chosen."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from configparser import ConfigParser
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from scenes.job import RenderJob
from scenes.render.errors import RenderEnvironmentError, RenderInputError
from scenes.render.fonts import use_fonts
from scenes.theme import Theme, load_theme
from traces import TraceError, load_set

if TYPE_CHECKING:
    from scenes.render.scene import ClipScene


def read_job(path: Path) -> RenderJob:
    """Read a job file.

    Raises:
        RenderInputError: It cannot be read or is not a job.
    """
    try:
        return msgspec.json.decode(path.read_bytes(), type=RenderJob)
    except (OSError, msgspec.DecodeError) as error:
        raise RenderInputError(f"render job {path}: {error}") from error


def render(job: RenderJob, on_segment: Callable[[int], None] | None = None) -> None:
    """Draw a clip into its folder; ``clip.json`` appears last.

    Args:
        job: What to draw.
        on_segment: Called with the number of segments so far, after each.

    Raises:
        RenderError: The clip cannot be drawn; the class carries the exit code.
    """
    try:
        theme = load_theme(Path(job.theme_file))
        trace_set = load_set(Path(job.set_dir))
    except (OSError, ValueError) as error:
        raise RenderInputError(str(error)) from error
    use_fonts(Path(job.fonts_dir))
    with tempfile.TemporaryDirectory(prefix="spanreel-") as media:
        clip_class = _prepare_manim(job, theme, Path(media))
        scene = clip_class(job, trace_set, theme, on_segment)
        try:
            scene.render()
        except TraceError as error:
            raise RenderInputError(f"clip {job.clip}: {error}") from error
        finally:
            scene.abort()
        scene.write_ledger()


def configure_manim(theme: Theme, height_px: int, media: Path) -> None:
    """Set Manim up for one picture size: quiet, writing into ``media`` alone, deaf to the user's ``manim.cfg``."""
    import manim
    from manim import config

    defaults = ConfigParser()
    defaults.read(Path(manim.__file__).parent / "_config" / "default.cfg")
    config.digest_parser(defaults)
    config.update({
        "renderer": "cairo",
        "pixel_height": height_px,
        "pixel_width": round(height_px * theme.page.width_px / theme.page.height_px),
        "frame_rate": theme.motion.fps,
        "background_color": theme.colour.background,
        "media_dir": str(media),
        "dry_run": True,
        "disable_caching": True,
        "progress_bar": "none",
        "verbosity": "ERROR",
    })  # fmt: skip


def _prepare_manim(job: RenderJob, theme: Theme, media: Path) -> type[ClipScene]:
    try:
        configure_manim(theme, job.height_px, media)
        from scenes.clips.registry import clip_class
        from scenes.render.masks import keep_masks_in
    except ImportError as error:
        raise RenderEnvironmentError(f"{error}; install what rendering needs with: make deck") from error
    keep_masks_in(Path(job.label_cache_dir))
    return clip_class(job.clip)

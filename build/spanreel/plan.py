"""What a build draws: one unit a clip, each with a hash over everything that its pictures depend on.

The hash is computed from files and package metadata; Manim is not imported.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Literal

import msgspec

from scenes.clips.registry import CLIPS
from scenes.job import RenderJob
from scenes.theme import load_theme
from slides.claims import title
from slides.talk import Slide, Talk, TalkError, load_talk
from spanreel import paths
from spanreel.errors import EnvironmentLackError, InputError
from spanreel.sources import clip_sources, digest_files
from traces import TraceSet
from traces.storage import canonical_json, digest

Mode = Literal["film", "stills"]

HEIGHTS_PX = {"draft": 540, "hd": 1080, "share": 720}
"""Height of the picture by quality."""

_PYTHON_PACKAGES = ("manim", "manimpango", "av", "pycairo", "numpy", "pillow", "fonttools")
_FONT_PACKAGES = ("inter-ui", "jetbrains-mono")


@dataclass(frozen=True)
class Look:
    """How the pictures are drawn, whatever they show."""

    quality: str = "hd"
    mode: Mode = "film"
    theme_file: Path = paths.THEME

    @property
    def height_px(self) -> int:
        """Height of the picture."""
        return HEIGHTS_PX[self.quality]


@dataclass(frozen=True)
class Unit:
    """One clip to draw."""

    slide: str
    clip: str
    hash: str
    titles: dict[str, str]
    set_dir: Path
    look: Look

    def job(self, fonts_dir: Path, labels_dir: Path, out_dir: Path) -> RenderJob:
        """Return the job for the process that draws it."""
        return RenderJob(
            clip=self.clip,
            set_dir=str(self.set_dir),
            theme_file=str(self.look.theme_file),
            fonts_dir=str(fonts_dir),
            label_cache_dir=str(labels_dir),
            out_dir=str(out_dir),
            titles=self.titles,
            mode=self.look.mode,
            height_px=self.look.height_px,
            unit_hash=self.hash,
        )


def the_talk() -> Talk:
    """Read the talk.

    Raises:
        InputError: Its file is not in order.
    """
    try:
        return load_talk(paths.TALK)
    except TalkError as error:
        raise InputError(str(error)) from error


def drawable(talk: Talk, trace_set: TraceSet) -> tuple[list[Slide], list[str]]:
    """Return the slides that the set has the experiments for, and one line for each slide that it has not."""
    shown, lines = [], []
    for slide in talk.slides:
        missing = [name for name in slide.experiments if name not in trace_set.experiments]
        if missing:
            lines.append(
                f"slide {slide.id} is left out: set {trace_set.name!r} has no experiment {', '.join(missing)}; "
                "record it with: spanreel profile"
            )
        else:
            shown.append(slide)
    return shown, lines


def plan_units(slides: list[Slide], trace_set: TraceSet, look: Look) -> list[Unit]:
    """Return the units of the slides that show a clip, in slide order.

    Raises:
        InputError: A slide names a clip that does not exist.
        EnvironmentLackError: A package that draws is missing.
        TraceError: A title cannot be filled.
    """
    return [_unit(slide, slide.clip, trace_set, look) for slide in slides if slide.clip]


def _unit(slide: Slide, clip: str, trace_set: TraceSet, look: Look) -> Unit:
    if clip not in CLIPS:
        raise InputError(f"slide {slide.id}: no clip {clip!r}; clips: {', '.join(CLIPS)}")
    titles = {slide_id: title(slide_id, trace_set).text for slide_id in slide.titles}
    inputs = {
        "clip": clip,
        "traces": {name: trace_set.sha256[name] for name in slide.experiments},
        "header": digest(canonical_json(msgspec.structs.replace(trace_set.header, files={}))),
        "sources": digest_files(clip_sources(CLIPS[clip].partition(":")[0])),
        "theme": digest(look.theme_file.read_bytes()),
        "titles": titles,
        "height_px": look.height_px,
        "fps": load_theme(look.theme_file).motion.fps,
        "mode": look.mode,
        "python": {name: python_version(name) for name in _PYTHON_PACKAGES},
        "fonts": {name: npm_version(name) for name in _FONT_PACKAGES},
    }
    return Unit(slide.id, clip, digest(canonical_json(inputs)), titles, trace_set.path, look)


def python_version(package: str) -> str:
    """Return the version of an installed Python package, which is not imported.

    Raises:
        EnvironmentLackError: It is missing.
    """
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError as error:
        raise EnvironmentLackError(f"Python package {package} is missing; install it with: make deck") from error


def npm_version(package: str) -> str:
    """Return the version of an installed npm package.

    Raises:
        EnvironmentLackError: It is missing.
    """
    try:
        described = json.loads((paths.NODE_MODULES / package / "package.json").read_text(encoding="utf-8"))
        return str(described["version"])
    except (OSError, ValueError, KeyError) as error:
        raise EnvironmentLackError(f"npm package {package} is missing; install it with: make deck") from error

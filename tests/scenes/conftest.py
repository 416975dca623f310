"""A renderer for tests: fonts prepared once, clips written inline, segments decoded."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import av
import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from scenes import ledger
from scenes.job import RenderJob
from scenes.render.fonts import prepare_fonts, use_fonts
from scenes.theme import load_theme
from trace_factory import make_set
from traces import load_set

ROOT = Path(__file__).parents[2]
THEME_FILE = ROOT / "slides" / "theme.toml"


@pytest.fixture(scope="session")
def fonts_dir(tmp_path_factory) -> Iterator[Path]:
    """The typefaces, in use; the process's own choice of fonts comes back afterwards."""
    before = os.environ.get("FONTCONFIG_FILE")
    folder = tmp_path_factory.mktemp("fonts")
    prepare_fonts(ROOT / "node_modules", folder)
    use_fonts(folder)
    yield folder
    os.environ.pop("FONTCONFIG_FILE")
    if before is not None:
        os.environ["FONTCONFIG_FILE"] = before


@pytest.fixture(scope="session")
def set_dir(tmp_path_factory) -> Path:
    """A hand-made trace set with experiment e23."""
    return make_set(tmp_path_factory.mktemp("sets"))


@pytest.fixture
def manim_1080(fonts_dir, tmp_path) -> None:
    """Manim set up for full size, for mobjects that no clip draws."""
    from scenes.render.run import configure_manim

    configure_manim(load_theme(THEME_FILE), 1080, tmp_path / "media")


@dataclass
class Rendered:
    """A clip's folder and what it says."""

    folder: Path
    clip: ledger.Clip

    def still(self, index: int) -> NDArray[np.uint8]:
        """The still of a pause, as RGB."""
        return np.asarray(Image.open(self.folder / self.clip.pauses[index].still))

    def frames(self, index: int) -> dict[int, av.VideoFrame]:
        """The frames of a segment by the number of the frame that they begin at."""
        with av.open(str(self.folder / self.clip.segments[index].file)) as container:
            stream = container.streams.video[0]
            return {round(frame.pts * stream.time_base * self.clip.fps): frame for frame in container.decode(stream)}


Draw = Callable[..., Rendered]


@pytest.fixture
def draw(fonts_dir, set_dir, tmp_path) -> Draw:
    """Return a function that renders the body of a ``construct`` and returns the clip."""
    from scenes.render.run import configure_manim
    from scenes.render.scene import ClipScene

    theme = load_theme(THEME_FILE)
    count = 0

    def render(construct: Callable[[ClipScene], None], *, height_px: int = 1080, mode: str = "film") -> Rendered:
        nonlocal count
        count += 1
        folder = tmp_path / f"clip {count}"
        folder.mkdir()
        configure_manim(theme, height_px, tmp_path / "media")
        job = RenderJob(
            "test", str(set_dir), str(THEME_FILE), str(fonts_dir), "", str(folder), {}, mode=mode, height_px=height_px
        )
        clip = type("TestClip", (ClipScene,), {"construct": construct})
        scene = clip(job, load_set(set_dir), theme)
        try:
            scene.render()
        finally:
            scene.abort()
        scene.write_ledger()
        return Rendered(folder, msgspec.json.decode((folder / "clip.json").read_bytes(), type=ledger.Clip))

    return render

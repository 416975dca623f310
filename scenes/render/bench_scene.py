"""One side of the render benchmark, in its own process: ``python -m scenes.render.bench_scene SIDE FONTS THEME``.

Both sides draw the same film: 40 labels fade in, then 40 bars grow. Mobjects are made before the clock starts, so
that neither side pays for text.
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, cast

from scenes.job import RenderJob
from scenes.render.fonts import FAMILIES, use_fonts
from scenes.render.metrics import TextStyle
from scenes.render.run import configure_manim
from scenes.theme import Theme, load_theme

if TYPE_CHECKING:
    from manim import Scene

    from traces import TraceSet

NUM_BARS = 40
FADE_S, GROW_S = 1.0, 4.0
_X0_PX, _TOP_PX, _PITCH_PX, _HEIGHT_PX, _LABEL_PX = 480.0, 60.0, 24.0, 18.0, 20.0


def bars() -> list[tuple[str, float, float, float]]:
    """Return the scene: for each bar its label, its top, its left and its right edge, in px."""
    return [
        (f"stage {i:02d}  {40 + 30 * i} ms", _TOP_PX + _PITCH_PX * i, _X0_PX, _X0_PX + 40 + 30 * i)
        for i in range(NUM_BARS)
    ]


def our_scene(theme: Theme, theme_file: Path, fonts_dir: Path, folder: Path) -> Scene:
    """Return the scene in our mobjects, for our camera and writer."""
    from scenes.render.animations import Appear, Grow
    from scenes.render.labels import Label
    from scenes.render.scene import ClipScene, group
    from scenes.render.shapes import Box

    style = TextStyle("text", _LABEL_PX, 400, theme.colour.text)
    colour = theme.role["decode"]

    class Ours(ClipScene):
        def setup(self) -> None:
            self.rows = [(Box(x0, y, x0, y + _HEIGHT_PX, colour), x1) for _, y, x0, x1 in bars()]
            self.labels = group(*(Label(text, x0 - 20, y + 16, style, "end") for text, y, x0, _ in bars()))

        def construct(self) -> None:
            self.play(Appear(self.labels, FADE_S))
            self.play(*(Grow(box, x1, GROW_S) for box, x1 in self.rows))
            self.pause("end")

    job = RenderJob("bench", "", str(theme_file), str(fonts_dir), "", str(folder), {})
    return Ours(job, cast("TraceSet", None), theme)  # it shows no measurement


def stock_scene(theme: Theme, folder: Path) -> Scene:
    """Return the scene in Manim's own mobjects, for its own camera, writer and encoder settings."""
    from manim import LEFT, RIGHT, FadeIn, GrowFromEdge, Rectangle, Scene, Text, VGroup, config, linear

    config.update({"dry_run": False, "media_dir": str(folder)})
    unit = config.frame_width / theme.page.width_px

    class Stock(Scene):
        def setup(self) -> None:
            self.boxes, self.labels = VGroup(), VGroup()
            for text, y, x0, x1 in bars():
                box = Rectangle(width=(x1 - x0) * unit, height=_HEIGHT_PX * unit, stroke_width=0, fill_opacity=1)
                box.set_fill(theme.role["decode"])
                centre = ((x0 + x1) / 2 - 960) * unit, (540 - y - _HEIGHT_PX / 2) * unit, 0
                box.move_to(centre)
                label = Text(text, font=FAMILIES["text"], font_size=72 * _LABEL_PX * unit, warn_missing_font=False)
                label.move_to(((x0 - 20 - 960) * unit, centre[1], 0), aligned_edge=RIGHT)
                self.boxes.add(box)
                self.labels.add(label)

        def construct(self) -> None:
            self.play(FadeIn(self.labels), run_time=FADE_S)
            self.play(*(GrowFromEdge(box, LEFT) for box in self.boxes), run_time=GROW_S, rate_func=linear)

    return Stock()


def main(side: str, fonts_dir: Path, theme_file: Path) -> dict[str, float]:
    """Render one side (``ours`` or ``stock``) and return what it cost."""
    theme = load_theme(theme_file)
    use_fonts(fonts_dir)
    with tempfile.TemporaryDirectory(prefix="spanreel-bench-") as folder:
        configure_manim(theme, theme.page.height_px, Path(folder) / "media")
        out = Path(folder)
        scene = our_scene(theme, theme_file, fonts_dir, out) if side == "ours" else stock_scene(theme, out / "media")
        scene.setup()
        scene.setup = lambda: None
        cpu_s, start_ns = time.process_time(), time.perf_counter_ns()
        scene.render()
        cpu_s, wall_s = time.process_time() - cpu_s, (time.perf_counter_ns() - start_ns) / 1e9
    frames = round((FADE_S + GROW_S) * theme.motion.fps)
    peak_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"cpu_ms_a_frame": cpu_s * 1e3 / frames, "wall_s": wall_s, "peak_rss_mb": peak_kib / 1024}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))) + "\n")

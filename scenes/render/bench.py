"""The render benchmark: one scene through our path and through stock Manim, side by side, each in its own process."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

from scenes.render.errors import RenderError

_TARGETS = {"cpu_ms_a_frame": ("ms", 25.0), "wall_s": ("s", None), "peak_rss_mb": ("MB", 600.0)}


@dataclass(frozen=True)
class Figure:
    """One measured figure beside its baseline; ``met`` is None without a target."""

    figure: str
    value: float
    unit: str
    baseline: str
    baseline_value: float
    ratio: float
    """Baseline over value: how many times less ours takes."""
    target: float | None
    met: bool | None


def bench_render(fonts_dir: Path, theme_file: Path) -> list[dict[str, object]]:
    """Render the benchmark's scene both ways, one after the other, and return the figures.

    Args:
        fonts_dir: Prepared fonts.
        theme_file: The theme.

    Raises:
        RenderError: One side failed; the message ends with its last line.
    """
    ours, stock = (_run(side, fonts_dir, theme_file) for side in ("ours", "stock"))
    baseline = f"Manim {version('manim')}, its own mobjects, camera and encoder settings, 1080p30"
    figures = []
    for name, (unit, target) in _TARGETS.items():
        value, other = ours[name], stock[name]
        met = None if target is None else value <= target
        figure = Figure(name, round(value, 2), unit, baseline, round(other, 2), round(other / value, 2), target, met)
        figures.append(asdict(figure))
    return figures


def _run(side: str, fonts_dir: Path, theme_file: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "scenes.render.bench_scene", side, str(fonts_dir), str(theme_file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise RenderError(f"benchmark side {side!r} failed: {last}")
    figures: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return figures


if __name__ == "__main__":
    json.dump(bench_render(Path(sys.argv[1]), Path(sys.argv[2])), sys.stdout, indent=1)
    sys.stdout.write("\n")

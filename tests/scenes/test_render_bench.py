"""The benchmark of the render path: both sides run, and every figure stands beside its baseline."""

from __future__ import annotations

from pathlib import Path

import pytest

from scenes.render.bench import bench_render
from scenes.render.bench_scene import bars

pytestmark = pytest.mark.slow


def test_both_sides_are_measured(fonts_dir):
    """The figures name their unit, baseline, target and whether it is met; the ratio is that of the two values."""
    figures = bench_render(fonts_dir, Path(__file__).parents[2] / "slides" / "theme.toml")
    assert [(figure["figure"], figure["unit"]) for figure in figures] == [
        ("cpu_ms_a_frame", "ms"), ("wall_s", "s"), ("peak_rss_mb", "MB"),
    ]  # fmt: skip
    for figure in figures:
        assert figure["value"] > 0
        assert figure["ratio"] == pytest.approx(figure["baseline_value"] / figure["value"], rel=0.05)
        assert figure["met"] == (None if figure["target"] is None else figure["value"] <= figure["target"])


def test_the_scene_fits_the_page():
    """40 bars with their labels lie within the page."""
    rows = bars()
    assert len(rows) == 40
    assert all(0 <= x0 < x1 <= 1920 and 0 <= y <= 1080 - 18 for _, y, x0, x1 in rows)

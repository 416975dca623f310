"""How boxes are filled: exact edges, strokes inside, hatching that stays on the page."""

from __future__ import annotations

import cairo
import numpy as np
import pytest

from scenes.render.drawn import Brush
from scenes.render.shapes import Box, Stroke

YELLOW, BROWN, ORANGE = "#F7EC59", "#A86F00", "#F0A30A"


@pytest.fixture
def paint(manim_1080):
    """Return a function that paints one mobject on black and returns RGB."""

    def painted(drawn, scale: float = 1.0) -> np.ndarray:
        pixels = np.zeros((round(200 * scale), round(400 * scale), 4), np.uint8)
        surface = cairo.ImageSurface.create_for_data(pixels.data, cairo.FORMAT_ARGB32, pixels.shape[1], pixels.shape[0])
        drawn.draw(Brush(surface, scale))
        return pixels[..., :3].astype(int)

    return painted


def test_edges_are_covered_by_their_fraction(paint):
    """A pixel that an edge cuts is lit by the share that the box covers of it."""
    pixels = paint(Box(100.25, 50, 200.5, 100, "#FFFFFF"))
    assert pixels[75, 99, 0] == 0
    assert pixels[75, 100, 0] == pytest.approx(0.75 * 255, abs=2)
    assert pixels[75, 200, 0] == pytest.approx(0.5 * 255, abs=2)
    assert pixels[75, 101:200, 0].min() == 255


def test_wait_is_an_outline_inside_its_edges_with_hatching(paint):
    """The outline is 3 px wide and inside; a third of the rest is hatched; nothing lies outside."""
    pixels = paint(Box(100, 50, 200, 100, YELLOW, pattern="wait"))
    lit = pixels[..., 0] > 120
    assert lit[50:53, 100:200].all()
    assert lit[97:100, 100:200].all()
    assert lit[50:100, 100:103].all()
    assert lit[50:100, 197:200].all()
    assert 0.25 < lit[53:97, 103:197].mean() < 0.4
    lit[50:100, 100:200] = False
    assert not lit.any()


def test_hatching_stays_while_the_box_moves(paint):
    """Two boxes elsewhere on the page show the same hatching where they overlap."""
    here = paint(Box(100, 50, 200, 100, YELLOW, pattern="wait"))
    there = paint(Box(131, 43, 251, 120, YELLOW, pattern="wait"))
    assert np.abs(here[60:90, 140:190] - there[60:90, 140:190]).max() < 16


def test_thin_waits_keep_their_width_and_lose_the_pattern(paint):
    """Below 20 px the hatching goes, below 6 px the box is filled."""
    narrow = paint(Box(100, 50, 115, 100, YELLOW, pattern="wait"))
    sliver = paint(Box(100, 50, 104, 100, YELLOW, pattern="wait"))
    assert narrow[60:90, 104:111].max() == 0
    assert sliver[50:100, 100:104, 0].min() == 0xF7


def test_heavy_edge_leaves_the_probe_rows_free(paint):
    """Prefill's heavy edge is 10 px wide and keeps 6 px away from the bar's top and bottom."""
    pixels = paint(Box(100, 50, 200, 100, ORANGE, heavy_left_px=10, heavy_left=BROWN))
    assert tuple(pixels[75, 105]) == (0xA8, 0x6F, 0x00)
    assert tuple(pixels[75, 111]) == (0xF0, 0xA3, 0x0A)
    assert {tuple(pixel) for pixel in pixels[50:56, 100:110].reshape(-1, 3)} == {(0xF0, 0xA3, 0x0A)}


def test_half_opacity_fades_the_box_as_one(paint):
    """Outline and hatching do not shine through each other: nothing is brighter than half."""
    pixels = paint(Box(100, 50, 200, 100, "#FFFFFF", pattern="wait", opacity=0.5))
    assert pixels.max() == pytest.approx(128, abs=1)


def test_a_draft_is_the_page_scaled(paint):
    """At half the height, edges stand at half the coordinates."""
    pixels = paint(Box(100, 50, 201, 100, "#FFFFFF"), scale=0.5)
    assert pixels[30, 50:100, 0].min() == 255
    assert pixels[30, 100, 0] == pytest.approx(0.5 * 255, abs=2)


def test_dashes_part_a_stroke(paint):
    """A dashed line shows its lengths of line and gap."""
    pixels = paint(Stroke([(100, 75), (172, 75)], "#FFFFFF", 4, dash=(14, 10)))
    lit = pixels[75, 100:172, 0] > 128
    assert lit.tolist() == ([True] * 14 + [False] * 10) * 3

"""RGB to YUV: the standard's numbers, and parts that equal the whole."""

from __future__ import annotations

import numpy as np
import pytest

from scenes.render.contrast import contrast
from scenes.render.yuv import YuvFrame


def planes(frame: YuvFrame) -> list[np.ndarray]:
    """Return the frame's three planes."""
    return [
        np.frombuffer(plane, np.uint8).reshape(plane.height, plane.line_size)[:, : plane.width]
        for plane in frame.frame.planes
    ]


def test_every_colour_is_within_a_step_of_bt709():
    """Flat colours come out within 1 of the exact BT.709 limited-range values."""
    colours = np.random.default_rng(3).integers(0, 256, (64, 3))
    for red, green, blue in [*colours.tolist(), (0, 0, 0), (255, 255, 255), (255, 0, 0), (0, 0, 255)]:
        frame = YuvFrame(16, 16)
        frame.update(np.full((16, 16, 4), (red, green, blue, 255), np.uint8), None)
        luma = 0.2126 * red + 0.7152 * green + 0.0722 * blue
        expected = (
            16 + luma * 219 / 255,
            128 + (blue - luma) / 1.8556 * 224 / 255,
            128 + (red - luma) / 1.5748 * 224 / 255,
        )
        for plane, value in zip(planes(frame), expected, strict=True):
            assert plane.min() == plane.max() == pytest.approx(value, abs=1)


def test_parts_equal_the_whole():
    """Converting only what changed gives the same planes as converting everything."""
    random = np.random.default_rng(5)
    before, after = (random.integers(0, 256, (64, 96, 4), dtype=np.uint8) for _ in range(2))
    rects = [(10, 4, 40, 20), (30, 10, 96, 64), (0, 0, 2, 2)]
    mixed = before.copy()
    for x0, y0, x1, y1 in rects:
        mixed[y0:y1, x0:x1] = after[y0:y1, x0:x1]
    partial, whole = YuvFrame(96, 64), YuvFrame(96, 64)
    partial.update(before, None)
    partial.update(mixed, rects)
    whole.update(mixed, None)
    for one, other in zip(planes(partial), planes(whole), strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize(("first", "second", "ratio"), [
    ("#FFFFFF", "#000000", 21.0), ("#F2F5F9", "#0E1117", 17.3), ("#8B97A7", "#0E1117", 6.4),
    ("#777777", "#777777", 1.0),
])  # fmt: skip
def test_contrast_is_that_of_wcag(first, second, ratio):
    """Known pairs have their known contrast, whichever is named first."""
    assert contrast(first, second) == contrast(second, first) == pytest.approx(ratio, abs=0.05)

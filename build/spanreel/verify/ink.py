"""Anything on a picture that has a bar's colour and that the ledger does not know."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from scenes.ledger import Pause
from spanreel.verify.faults import Fault
from spanreel.verify.picture import Picture, levels
from spanreel.verify.profile import runs

AREA_MIN_PX2 = 12.0
"""In a smaller picture than 1080 rows, that many of its pixels."""
_BRIGHTNESS_TOLERANCE = 14
_NEUTRAL = 128
_HUED_FROM = 20
"""How far from grey a colour is told; the greys of the page, which are a little blue, lie below 12."""
_MARK_MARGIN_PX = 6.0
_TEXT_MARGIN_PX = 4.0
_AXIS_MARGIN_PX = 4.0
_FOOTER_Y_PX = 976.0
_MAX_REPORTED = 3

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Region:
    """A patch of one colour: its box and its area, in px of the page."""

    box_px: tuple[float, float, float, float]
    area_px2: float


def bar_colours(theme_file: Path) -> frozenset[str]:
    """Return the colours that bars are drawn in."""
    theme = tomllib.loads(theme_file.read_text(encoding="utf-8"))
    edges = {name for name in theme["role"] if name.endswith("_edge")}
    return frozenset({theme["role"][name] for name in theme["role"].keys() - edges} | {theme["colour"]["unnamed"]})


def ink_faults(pause: Pause, picture: Picture, colours: Iterable[str]) -> Iterator[Fault]:
    """Find bar-coloured regions of the picture that no mark, text or axis accounts for.

    Only bars have a hue, so anything with one is looked at; the grey of some bars is also that of lines and
    ornaments, so of grey only what is thick and where a length can mean time.
    """
    unknown = ~_known(pause, picture)
    blue, red = picture.blue.astype(np.int16) - _NEUTRAL, picture.red.astype(np.int16) - _NEUTRAL
    hued = (np.maximum(np.abs(blue), np.abs(red)) >= _HUED_FROM) & unknown
    regions = [("a hue", region) for region in _regions(hued, picture.scale)]
    brightness = _halved(picture.luma)
    in_plot = unknown & _plot(pause, picture)
    for colour in sorted(set(colours)):
        bright, of_blue, of_red = levels(colour)
        if max(abs(of_blue - _NEUTRAL), abs(of_red - _NEUTRAL)) >= _HUED_FROM:
            continue
        alike = (np.abs(brightness - np.float32(bright)) < _BRIGHTNESS_TOLERANCE) & in_plot
        regions += [(colour, region) for region in _regions(_thick(alike), picture.scale)]
    large = [
        (what, region) for what, region in regions if region.area_px2 >= AREA_MIN_PX2 / min(1.0, picture.scale) ** 2
    ]
    for what, region in sorted(large, key=lambda found: -found[1].area_px2)[:_MAX_REPORTED]:
        x0, y0, x1, y1 = region.box_px
        place = f"x {x0:.0f}–{x1:.0f}, y {y0:.0f}–{y1:.0f}"
        yield Fault("ink", f"{region.area_px2:.0f} px² of {what} at {place}", "a mark in the ledger")


def _halved(luma: NDArray[np.uint8]) -> NDArray[np.float32]:
    rows, columns = luma.shape[0] // 2 * 2, luma.shape[1] // 2 * 2
    even = luma[:rows, :columns]
    total = even[0::2, 0::2].astype(np.uint16)
    for row, column in ((0, 1), (1, 0), (1, 1)):
        total += even[row::2, column::2]
    return total.astype(np.float32) / np.float32(4)


def _known(pause: Pause, picture: Picture) -> Mask:
    known = np.zeros(picture.blue.shape, bool)
    boxes = [((m.x0_px, m.y0_px, m.x1_px, m.y1_px), _MARK_MARGIN_PX) for m in pause.marks]
    boxes += [(text.box_px, _TEXT_MARGIN_PX) for text in pause.texts]
    for axis in pause.axes:
        line = (axis.x0_px, min(axis.y_px, axis.tick_y0_px), axis.x1_px, axis.tick_y1_px)
        boxes += [(line, _AXIS_MARGIN_PX)] if axis.kind == "main" else []
    half = picture.scale / 2
    for (x0, y0, x1, y1), margin in boxes:
        rows = slice(max(0, int((y0 - margin) * half)), int((y1 + margin) * half) + 1)
        known[rows, max(0, int((x0 - margin) * half)) : int((x1 + margin) * half) + 1] = True
    return known


def _plot(pause: Pause, picture: Picture) -> Mask:
    """Return where a length can mean time: right of where the axes begin, above the footer."""
    plot = np.zeros(picture.blue.shape, bool)
    left_px = min((axis.x0_px for axis in pause.axes), default=0.0)
    plot[: int(_FOOTER_Y_PX * picture.scale / 2), max(0, int(left_px * picture.scale / 2) - 2) :] = True
    return plot


def _thick(mask: Mask) -> Mask:
    """Keep what is three cells wide and high."""
    kept = mask.copy()
    kept[1:-1] &= mask[:-2] & mask[2:]
    narrowed = kept.copy()
    kept[:, 1:-1] &= narrowed[:, :-2] & narrowed[:, 2:]
    return kept


def _regions(mask: Mask, scale: float) -> list[Region]:
    """Join runs of neighbouring rows into regions."""
    open_regions: list[list[int]] = []
    closed: list[list[int]] = []
    for row in np.flatnonzero(mask.any(axis=1)).tolist():
        touching: list[list[int]] = []
        for first, end in runs(mask[row]):
            new = [first, row, end, row + 1, end - first]
            for old in [r for r in open_regions + touching if r[3] >= row and r[0] < end and r[2] > first]:
                new = [min(new[0], old[0]), min(new[1], old[1]), max(new[2], old[2]), row + 1, new[4] + old[4]]
                (open_regions if old in open_regions else touching).remove(old)
            touching.append(new)
        closed += [region for region in open_regions if region[3] < row]
        open_regions = [region for region in open_regions if region[3] >= row] + touching
    cell_px = 2 / scale
    return [
        Region((x0 * cell_px, y0 * cell_px, x1 * cell_px, y1 * cell_px), area * cell_px**2)
        for x0, y0, x1, y1, area in closed + open_regions
    ]

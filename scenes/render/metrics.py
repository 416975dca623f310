"""Widths and ink of text from the fonts' own tables, without drawing and without Manim.

Text is shaped as Pango is told to: with kerning, and with tabular figures on request; without composition, contextual
alternates and ligatures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from scenes.render.fonts import FontName, face, require_glyphs


@dataclass(frozen=True)
class TextStyle:
    """How a run of text looks; proportional figures unless ``tabular``."""

    font: FontName
    size_px: float
    weight: int
    colour: str
    tabular: bool = False
    tracking_em: float = 0.0
    """Added between characters."""


Run = tuple[str, TextStyle]


@dataclass(frozen=True)
class TextSize:
    """Size of a text set from the pen at (0, 0), y downwards from the baseline."""

    width_px: float
    """Advance: where the pen stands after it."""
    ink_px: tuple[float, float, float, float] | None
    """x0, y0, x1, y1 of what is inked; None for spaces alone."""


def measure(runs: Sequence[Run]) -> TextSize:
    """Return the size of runs set one after another.

    Raises:
        RenderInputError: A character has no glyph.
    """
    pen_px = 0.0
    boxes = []
    for text, style in runs:
        size = measure_run(text, style)
        if size.ink_px is not None:
            x0, y0, x1, y1 = size.ink_px
            boxes.append((pen_px + x0, y0, pen_px + x1, y1))
        pen_px += size.width_px
    return TextSize(pen_px, _union(boxes))


@cache
def measure_run(text: str, style: TextStyle) -> TextSize:
    """Return the size of one run.

    Raises:
        RenderInputError: A character has no glyph.
    """
    require_glyphs(text, style.font, style.weight)
    font = face(style.font, style.weight)
    unit_px = style.size_px / font["head"].unitsPerEm
    tracking = style.tracking_em * font["head"].unitsPerEm
    glyphs = _glyphs(text, style)
    pen = 0.0
    boxes = []
    for index, glyph in enumerate(glyphs):
        if index:
            pen += tracking + _kern(style.font, style.weight, glyphs[index - 1], glyph)
        outline = font["glyf"][glyph]
        if outline.numberOfContours:
            boxes.append((
                (pen + outline.xMin) * unit_px, -outline.yMax * unit_px,
                (pen + outline.xMax) * unit_px, -outline.yMin * unit_px,
            ))  # fmt: skip
        pen += font["hmtx"][glyph][0]
    return TextSize(pen * unit_px, _union(boxes))


def inked_indices(text: str, style: TextStyle) -> list[int]:
    """Return the places in ``text`` whose glyphs leave ink."""
    outlines = face(style.font, style.weight)["glyf"]
    return [index for index, glyph in enumerate(_glyphs(text, style)) if outlines[glyph].numberOfContours]


def _glyphs(text: str, style: TextStyle) -> list[str]:
    names = face(style.font, style.weight).getBestCmap()
    tabular = _tabular(style.font, style.weight) if style.tabular else {}
    return [tabular.get(name, name) for name in (names[ord(character)] for character in text)]


@cache
def _tabular(font: FontName, weight: int) -> dict[str, str]:
    mapping: dict[str, str] = {}
    for subtable in _subtables(face(font, weight), "GSUB", "tnum"):
        mapping |= subtable.mapping
    return mapping


@cache
def _kern(font: FontName, weight: int, left: str, right: str) -> int:
    """Return the kerning of a pair in font units: in each lookup, the first subtable that has the pair decides."""
    return sum(_pair_value(lookup, left, right) for lookup in _kern_lookups(font, weight))


@cache
def _kern_lookups(font: FontName, weight: int) -> list[list[Any]]:
    return _lookups(face(font, weight), "GPOS", "kern")


def _pair_value(subtables: list[Any], left: str, right: str) -> int:
    for table in subtables:
        if left not in table.Coverage.glyphs:
            continue
        if table.Format == 1:
            pairs = table.PairSet[table.Coverage.glyphs.index(left)].PairValueRecord
            value = next((pair.Value1 for pair in pairs if pair.SecondGlyph == right), None)
            if value is None:
                continue
        else:
            classes = table.ClassDef1.classDefs.get(left, 0), table.ClassDef2.classDefs.get(right, 0)
            value = table.Class1Record[classes[0]].Class2Record[classes[1]].Value1
        return getattr(value, "XAdvance", 0)
    return 0


def _subtables(font: Any, table: str, feature: str) -> list[Any]:
    return [subtable for lookup in _lookups(font, table, feature) for subtable in lookup]


def _lookups(font: Any, table: str, feature: str) -> list[list[Any]]:
    """Return the subtables of each lookup of a feature, in the order in which a shaper applies them."""
    if table not in font:
        return []
    content = font[table].table
    records = [record for record in content.FeatureList.FeatureRecord if record.FeatureTag == feature]
    indices = sorted({index for record in records for index in record.Feature.LookupListIndex})
    return [
        [getattr(sub, "ExtSubTable", sub) for sub in content.LookupList.Lookup[index].SubTable] for index in indices
    ]


def _union(boxes: list[tuple[float, float, float, float]]) -> tuple[float, float, float, float] | None:
    if not boxes:
        return None
    x0, y0, x1, y1 = zip(*boxes, strict=True)
    return min(x0), min(y0), max(x1), max(y1)

"""Text on the page, placed by baseline and advance, and the digits of a running clock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from manim import config
from PIL import Image

from scenes.ledger import Value
from scenes.render.drawn import Brush, Drawn, Rect, rgb
from scenes.render.masks import Mask, mask
from scenes.render.metrics import Run, TextStyle, measure_run

Anchor = Literal["start", "middle", "end"]

PAGE_HEIGHT_PX = 1080
DIGIT_CELL_EM = 0.58
"""Width of a clock digit's cell; a point or a colon stands in half a cell."""
_HALF_CELL = ".:"


@dataclass(frozen=True)
class _Piece:
    """A run as placed: its mask, its colour, and its pen against the text's start, in px of the page."""

    mask: Mask
    colour: str
    pen_px: float


@dataclass(frozen=True)
class TextClaim:
    """What a text says about the trace, for the ledger."""

    text_id: str = ""
    """Unique in the clip; without one the text is numbered."""
    template: str | None = None
    """The text with ``{0}``, ``{1}`` … where its values stand; without one, the text itself."""
    values: list[Value] = field(default_factory=list)
    claim: str = ""
    """Slide whose title this is."""
    behind: str | None = None
    """Colour of what it stands on; the page's background without one."""


class Writing(Drawn):
    """Base of what is written: pieces of text at a pen position on a baseline."""

    def __init__(self, x: float, baseline_y: float, anchor: Anchor, claim: TextClaim, opacity: float) -> None:
        super().__init__([(x, baseline_y), (x, baseline_y)], opacity)
        self.anchor = anchor
        self.claim = claim
        self.scale_of_page = float(config.pixel_height) / PAGE_HEIGHT_PX

    @property
    def text(self) -> str:
        """What it says."""
        raise NotImplementedError

    @property
    def width_px(self) -> float:
        """Its advance."""
        raise NotImplementedError

    @property
    def pieces(self) -> list[_Piece]:
        """Its inked parts."""
        raise NotImplementedError

    @property
    def styles(self) -> list[TextStyle]:
        """The styles of its runs."""
        raise NotImplementedError

    @property
    def start_px(self) -> tuple[float, float]:
        """Where the pen starts: x and baseline."""
        shift = {"start": 0.0, "middle": 0.5, "end": 1.0}[self.anchor] * self.width_px
        return float(self.points[0, 0]) - shift, float(self.points[0, 1])

    def state(self) -> tuple[Any, ...]:
        """Return place, opacity and words."""
        return (*super().state(), self.text)

    def extent(self) -> Rect:
        """Return the box of its bitmaps."""
        boxes = [self._pixel_box(piece) for piece in self.pieces]
        if not boxes:
            x, y = self.start_px
            return x, y, x, y
        x0, y0, x1, y1 = zip(*boxes, strict=True)
        scale = self.scale_of_page
        return min(x0) / scale, min(y0) / scale, max(x1) / scale, max(y1) / scale

    def paint(self, brush: Brush) -> None:
        """Stamp every piece."""
        x, y = self.start_px
        for piece in self.pieces:
            brush.colour(piece.colour)
            brush.stamp(piece.mask, x + piece.pen_px, y)

    def ink(self) -> tuple[Rect, Image.Image] | None:
        """Return the box of its ink in px of the page, and its bitmap cut to that box; None for spaces alone."""
        if not self.pieces:
            return None
        boxes = [self._pixel_box(piece) for piece in self.pieces]
        left, top = min(box[0] for box in boxes), min(box[1] for box in boxes)
        right, bottom = max(box[2] for box in boxes), max(box[3] for box in boxes)
        rgba = np.zeros((bottom - top, right - left, 4), np.uint8)
        for piece, (x0, y0, x1, y1) in zip(self.pieces, boxes, strict=True):
            part = rgba[y0 - top : y1 - top, x0 - left : x1 - left]
            inked = piece.mask.alpha > part[..., 3]
            part[inked, :3] = np.round(np.array(rgb(piece.colour)) * 255).astype(np.uint8)
            part[inked, 3] = piece.mask.alpha[inked]
        rows, columns = _span(rgba[..., 3].any(axis=1)), _span(rgba[..., 3].any(axis=0))
        scale = self.scale_of_page
        box = ((left + columns.start) / scale, (top + rows.start) / scale,
               (left + columns.stop) / scale, (top + rows.stop) / scale)  # fmt: skip
        return box, Image.fromarray(np.ascontiguousarray(rgba[rows, columns]))

    def _pixel_box(self, piece: _Piece) -> tuple[int, int, int, int]:
        x, y = self.start_px
        left = round((x + piece.pen_px) * self.scale_of_page) + piece.mask.left
        top = round(y * self.scale_of_page) + piece.mask.top
        height, width = piece.mask.alpha.shape
        return left, top, left + width, top + height


class Label(Writing):
    """A line of text.

    Args:
        runs: One string in ``style``, or runs of text, each with its style.
        x: Where the pen starts, or the middle or the end of the advance, by ``anchor``.
        baseline_y: The baseline.
        style: The style of a single string.
        anchor: What of the advance stands at ``x``.
        opacity: 0 to 1.
        text_id, template, values, claim, behind: See :class:`TextClaim`.

    Raises:
        RenderInputError: A character has no glyph.
    """

    def __init__(
        self,
        runs: str | Sequence[Run],
        x: float,
        baseline_y: float,
        style: TextStyle | None = None,
        anchor: Anchor = "start",
        opacity: float = 1.0,
        text_id: str = "",
        template: str | None = None,
        values: Sequence[Value] = (),
        claim: str = "",
        behind: str | None = None,
    ) -> None:
        super().__init__(x, baseline_y, anchor, TextClaim(text_id, template, list(values), claim, behind), opacity)
        if isinstance(runs, str):
            if style is None:
                raise ValueError(f"label {runs!r} has no style")
            runs = [(runs, style)]
        self.runs = tuple(runs)
        self._pieces, self._width_px = _set_runs(self.runs, self.scale_of_page)

    @property
    def text(self) -> str:
        """All its runs."""
        return "".join(text for text, _ in self.runs)

    @property
    def width_px(self) -> float:
        """Its advance."""
        return self._width_px

    @property
    def pieces(self) -> list[_Piece]:
        """Its inked runs."""
        return self._pieces

    @property
    def styles(self) -> list[TextStyle]:
        """The styles of its runs."""
        return [style for _, style in self.runs]


class Digits(Writing):
    """Figures in fixed cells, so that they stand still while they count; a new text costs no rasterising.

    Args:
        text: What it says at first.
        x: Start, middle or end of its cells, by ``anchor``.
        baseline_y: The baseline.
        style: Its style.
        anchor: What of its cells stands at ``x``.
        opacity: 0 to 1.
        text_id, template, values, claim, behind: See :class:`TextClaim`; they describe it at its pauses.
    """

    def __init__(
        self,
        text: str,
        x: float,
        baseline_y: float,
        style: TextStyle,
        anchor: Anchor = "start",
        opacity: float = 1.0,
        text_id: str = "",
        template: str | None = None,
        values: Sequence[Value] = (),
        claim: str = "",
        behind: str | None = None,
    ) -> None:
        super().__init__(x, baseline_y, anchor, TextClaim(text_id, template, list(values), claim, behind), opacity)
        self.style = style
        self._text = text
        self.set_text(text)

    @property
    def text(self) -> str:
        """What it says now."""
        return self._text

    def set_text(self, text: str) -> None:
        """Say something else.

        Raises:
            RenderInputError: A character has no glyph.
        """
        pieces = []
        pen_px = 0.0
        for character in text:
            cell_px = cell_width_px(character, self.style)
            found = mask(character, self.style, self.scale_of_page)
            if found is not None:
                inset_px = (cell_px - measure_run(character, self.style).width_px) / 2
                pieces.append(_Piece(found, self.style.colour, pen_px + inset_px))
            pen_px += cell_px
        self._text, self._pieces, self._width_px = text, pieces, pen_px

    @property
    def width_px(self) -> float:
        """The width of its cells."""
        return self._width_px

    @property
    def pieces(self) -> list[_Piece]:
        """Its figures."""
        return self._pieces

    @property
    def styles(self) -> list[TextStyle]:
        """Its one style."""
        return [self.style]


def cell_width_px(character: str, style: TextStyle) -> float:
    """Return the width of a character's cell in :class:`Digits`."""
    if character.isdigit():
        return DIGIT_CELL_EM * style.size_px
    if character in _HALF_CELL:
        return DIGIT_CELL_EM / 2 * style.size_px
    return measure_run(character, style).width_px


def _set_runs(runs: Sequence[Run], scale: float) -> tuple[list[_Piece], float]:
    pieces = []
    pen_px = 0.0
    for text, style in runs:
        found = mask(text, style, scale)
        if found is not None:
            pieces.append(_Piece(found, style.colour, pen_px))
        pen_px += measure_run(text, style).width_px
    return pieces, pen_px


def _span(filled: Any) -> slice:
    where = np.flatnonzero(filled)
    return slice(int(where[0]), int(where[-1]) + 1)

"""Reads the figures in a text's bitmap, with the film's typefaces and without its renderer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from scenes.render.errors import RenderError
from scenes.render.fonts import prepare_fonts
from spanreel import paths
from spanreel.verify.picture import Profile
from spanreel.verify.profile import runs

FIGURES = "0123456789"
_CELL_PX = (20, 28)
_FACE_PX = 96
_INKED = 40

Shape = NDArray[np.float32]


class FigureReader:
    """Tells which figure a piece of ink is, whatever the weight and the size.

    Args:
        faces: Font files.
    """

    def __init__(self, faces: Sequence[Path]) -> None:
        fonts = [ImageFont.truetype(str(face), _FACE_PX) for face in faces]
        shapes = [(figure, _drawn(figure, font)) for figure in FIGURES for font in fonts]
        self._names = [figure for figure, _ in shapes]
        self._shapes = np.array([shape for _, shape in shapes])

    @classmethod
    def of_the_film(cls) -> FigureReader | None:
        """Return a reader with the film's typefaces, or None where they are not installed."""
        folder = paths.CACHE / "fonts"
        try:
            prepare_fonts(paths.NODE_MODULES, folder)
        except (RenderError, OSError):
            return None
        return cls(sorted(folder.glob("*.ttf")))

    def misread(self, text: str, ink: Profile) -> Iterator[tuple[str, str]]:
        """Find figures of a text that its ink shows otherwise.

        Letters that touch are one piece of ink, so there may be fewer pieces than characters; a figure is then
        accepted at each place that the touching letters leave open.

        Args:
            text: What the ink should say.
            ink: Coverage, by row and column.

        Yields:
            The figure that should be there, and the one that is.
        """
        pieces = [_shape(ink[:, first:end]) for first, end in runs(ink.max(axis=0) > 0)]
        characters = [character for character in text if not character.isspace()]
        joined = len(characters) - len(pieces)
        if joined < 0:
            return
        for index, character in enumerate(characters):
            # A figure that touches the point or comma behind it is one piece of ink with it.
            touches = joined and characters[index + 1 : index + 2] in ([","], ["."])
            if character in FIGURES and not touches:
                places = range(max(0, index - joined), min(index, len(pieces) - 1) + 1)
                seen = [self._name(pieces[place]) for place in places]
                if character not in seen:
                    yield character, seen[-1] if seen else "nothing"

    def _name(self, shape: Shape | None) -> str:
        return "nothing" if shape is None else self._names[int(np.argmax(self._shapes @ shape))]


def _drawn(figure: str, font: ImageFont.FreeTypeFont) -> Shape:
    image = Image.new("L", (2 * _FACE_PX, 2 * _FACE_PX))
    ImageDraw.Draw(image).text((_FACE_PX // 2, _FACE_PX // 4), figure, font=font, fill=255)
    shape = _shape(np.asarray(image, np.float32))
    if shape is None:
        raise ValueError(f"font {font.getname()} draws no {figure}")
    return shape


def _shape(ink: Profile) -> Shape | None:
    """Return ink cut to its box, brought to one size, and made comparable by a scalar product."""
    rows, columns = (np.flatnonzero(ink.max(axis=axis) > _INKED) for axis in (1, 0))
    if len(rows) == 0:
        return None
    box = ink[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1].astype(np.uint8)
    cell = np.asarray(Image.fromarray(box).resize(_CELL_PX, Image.Resampling.BOX), np.float32).ravel()
    cell -= cell.mean()
    length = np.float32(np.linalg.norm(cell))
    return cell / length if length else None

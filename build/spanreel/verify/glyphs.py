"""Letters in the picture: the bitmap that a text was drawn from must be there, letter by letter."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from scenes.ledger import Pause, Text
from spanreel.verify.faults import Fault
from spanreel.verify.figures import FigureReader
from spanreel.verify.picture import Picture, Profile, levels
from spanreel.verify.profile import runs

LIKENESS_MIN = 0.93
"""Correlation of each letter with the picture."""
STRENGTH_MIN = 0.75
"""Share of the stated contrast that each letter has at least."""
_LETTER_MIN_PX = 12


def glyph_faults(pause: Pause, folder: Path, picture: Picture, reader: FigureReader | None) -> Iterator[Fault]:
    """Find texts whose letters are not in the picture as their bitmaps have them, or whose bitmaps say another number.

    Args:
        pause: The ledger's entry of the picture.
        folder: Where the bitmaps lie.
        picture: The decoded picture.
        reader: Reads the figures of bitmaps in full size; None leaves that out.
    """
    for text in pause.texts:
        try:
            ink = _ink(folder / text.bitmap)
        except OSError:
            yield Fault("text", f"its bitmap {text.bitmap!r} cannot be read", mark=text.id)
            continue
        letters = compare_letters(text, ink, picture)
        if (likeness := min((like for like, _ in letters), default=0.0)) < LIKENESS_MIN:
            seen = f"a letter of {text.text!r} is only {likeness:.2f} like the picture's"
            yield Fault("text", seen, f"{LIKENESS_MIN:g} at least", mark=text.id)
        elif (share := min(strength for _, strength in letters)) < STRENGTH_MIN:
            yield Fault("text", f"a letter of {text.text!r} has {share:.0%} of the stated contrast", mark=text.id)
        if reader and picture.scale >= 1:
            for figure, seen in reader.misread(text.text, ink):
                yield Fault("label", f"its bitmap shows {seen} for a {figure}", repr(text.text), mark=text.id)


def compare_letters(text: Text, ink: Profile, picture: Picture) -> list[tuple[float, float]]:
    """Return, for each letter, its correlation with the picture and the share of its contrast that is there."""
    left, top = (round(value * picture.scale) for value in text.box_px[:2])
    shown = picture.luma[top : top + ink.shape[0], left : left + ink.shape[1]].astype(np.float32)
    if shown.shape != ink.shape:
        return []
    contrast = levels(text.colour)[0] - levels(text.behind)[0]
    return [_compare(ink[:, columns], shown[:, columns], contrast) for columns in _letters(ink, picture.scale)]


def _ink(file: Path) -> Profile:
    with Image.open(file) as image:
        return np.asarray(image.convert("RGBA"), np.float32)[..., 3]


def _letters(ink: Profile, scale: float) -> list[slice]:
    """Cut a text into stretches of ink, those narrower than a letter joined to the next."""
    cuts: list[slice] = []
    for first, end in runs(ink.max(axis=0) > 0):
        if cuts and cuts[-1].stop - cuts[-1].start < _LETTER_MIN_PX * scale:
            cuts[-1] = slice(cuts[-1].start, end)
        else:
            cuts.append(slice(first, end))
    if len(cuts) > 1 and cuts[-1].stop - cuts[-1].start < _LETTER_MIN_PX * scale:
        last = cuts.pop()
        cuts[-1] = slice(cuts[-1].start, last.stop)
    return cuts


def _compare(ink: Profile, shown: NDArray[np.float32], contrast: float) -> tuple[float, float]:
    a, b = ink / 255 - (ink / 255).mean(), shown - shown.mean()
    product, of_ink, of_shown = (float((x * y).sum()) for x, y in ((a, b), (a, a), (b, b)))
    if not of_ink or not of_shown or not contrast:
        return 0.0, 0.0
    return abs(product) / (of_ink * of_shown) ** 0.5, product / of_ink / contrast

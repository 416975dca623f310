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
from spanreel.verify.picture import Picture, Profile
from spanreel.verify.profile import runs

LIKENESS_MIN = 0.93
"""Correlation of each letter with the picture."""
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
        likeness = min(letter_likeness(text, ink, picture), default=0.0)
        if likeness < LIKENESS_MIN:
            seen = f"a letter of {text.text!r} is only {likeness:.2f} like the picture's"
            yield Fault("text", seen, f"{LIKENESS_MIN:g} at least", mark=text.id)
        if reader and picture.scale >= 1:
            for figure, seen in reader.misread(text.text, ink):
                yield Fault("label", f"its bitmap shows {seen} for a {figure}", repr(text.text), mark=text.id)


def letter_likeness(text: Text, ink: Profile, picture: Picture) -> list[float]:
    """Return the correlation of each letter's ink with the brightness at its place."""
    left, top = (round(value * picture.scale) for value in text.box_px[:2])
    shown = picture.luma[top : top + ink.shape[0], left : left + ink.shape[1]].astype(np.float32)
    if shown.shape != ink.shape:
        return [0.0]
    return [_correlation(ink[:, columns], shown[:, columns]) for columns in _letters(ink, picture.scale)]


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


def _correlation(first: Profile, second: NDArray[np.float32]) -> float:
    a, b = first - first.mean(), second - second.mean()
    norm = float(np.sqrt((a * a).sum() * (b * b).sum()))
    return abs(float((a * b).sum())) / norm if norm else 0.0

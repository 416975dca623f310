"""The pause stills as files with names that sort, and all of them on one sheet."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from PIL import Image

COLUMNS = 3
CELL_WIDTH_PX, GAP_PX = 640, 16
SMALL_QUALITY = 80


def copy_stills(slides: Sequence[tuple[str, Sequence[Path]]], folder: Path) -> list[Path]:
    """Copy stills as ``01-grey-bar-1.png`` and so on.

    Args:
        slides: Slide id and the stills of its clip, in order.
        folder: The folder to create and fill.

    Returns:
        The copies, in order.
    """
    folder.mkdir()
    copies = []
    for number, (slide, stills) in enumerate(slides, 1):
        for index, still in enumerate(stills, 1):
            copy = folder / f"{number:02}-{slide}-{index}{still.suffix}"
            shutil.copyfile(still, copy)
            copies.append(copy)
    return copies


def write_sheets(stills: Sequence[Path], background: str, sheet_file: Path) -> None:
    """Write the contact sheet as PNG, and beside it as WebP, small enough for a page.

    Args:
        stills: Pictures of one shape.
        background: Colour between them, ``#rrggbb``.
        sheet_file: The PNG file.
    """
    pictures = [_cell(still) for still in stills]
    height_px = pictures[0].height
    rows = -(-len(pictures) // COLUMNS)
    size = (COLUMNS * (CELL_WIDTH_PX + GAP_PX) + GAP_PX, rows * (height_px + GAP_PX) + GAP_PX)
    sheet = Image.new("RGB", size, background)
    for index, picture in enumerate(pictures):
        row, column = divmod(index, COLUMNS)
        sheet.paste(picture, (GAP_PX + column * (CELL_WIDTH_PX + GAP_PX), GAP_PX + row * (height_px + GAP_PX)))
    sheet.save(sheet_file)
    sheet.save(sheet_file.with_suffix(".webp"), quality=SMALL_QUALITY, method=6)


def _cell(still: Path) -> Image.Image:
    with Image.open(still) as picture:
        height_px = round(CELL_WIDTH_PX * picture.height / picture.width)
        return picture.convert("RGB").resize((CELL_WIDTH_PX, height_px), Image.Resampling.LANCZOS)

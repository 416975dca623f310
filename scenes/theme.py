"""Colours, type and measures of the deck, from ``slides/theme.toml``."""

from __future__ import annotations

import tomllib
from pathlib import Path

import msgspec


class Page(msgspec.Struct, frozen=True):
    """Measures of the 1920 × 1080 page, in px."""

    width_px: int
    height_px: int
    left_px: int
    right_px: int
    plot_x0_px: int
    plot_x1_px: int
    title_baseline_px: int
    title_second_baseline_px: int
    footer_baseline_px: int


class Colours(msgspec.Struct, frozen=True):
    """Colours of the page and of its text."""

    background: str
    surface: str
    grid: str
    axis: str
    text: str
    secondary: str
    muted: str
    ink: str
    white: str
    unnamed: str


class Fonts(msgspec.Struct, frozen=True):
    """Family names."""

    text: str
    mono: str


class Sizes(msgspec.Struct, frozen=True):
    """Type sizes, in px."""

    title_px: int
    clock_px: int
    clock_unit_px: int
    key_number_px: int
    label_px: int
    small_px: int


class Motion(msgspec.Struct, frozen=True):
    """Frame rate and usual run times."""

    fps: int
    fade_s: float
    move_s: float


class Theme(msgspec.Struct, frozen=True):
    """The whole theme; ``role`` maps the name of a component or a stage to its colour."""

    page: Page
    colour: Colours
    role: dict[str, str]
    font: Fonts
    size: Sizes
    motion: Motion


def load_theme(path: Path) -> Theme:
    """Load a theme file.

    Raises:
        ValueError: The file is not TOML, or a value is missing or of the wrong type; the message names it.
    """
    try:
        return msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), Theme)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise ValueError(f"{path}: {error}") from error

"""What one render needs to know, as a file: the door between the command line and the process that draws."""

from __future__ import annotations

from typing import Literal

import msgspec


class RenderJob(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One clip to draw. Paths are absolute."""

    clip: str
    set_dir: str
    theme_file: str
    fonts_dir: str
    """Folder with the typefaces as ttf and the fontconfig file that hides all others."""
    label_cache_dir: str
    out_dir: str
    """An empty staging folder; the caller moves it to its final name."""
    titles: dict[str, str]
    """Title of each slide that the clip shows, by slide id, already filled from the trace."""
    mode: Literal["film", "stills"] = "film"
    height_px: int = 1080
    """1080, or less for a draft; the picture is drawn in 1920 × 1080 units and scaled."""
    unit_hash: str = ""

"""The typefaces: converted for Pango, seen alone, and asked which characters they have."""

from __future__ import annotations

import hashlib
import json
import os
from functools import cache
from pathlib import Path
from typing import Literal
from xml.sax.saxutils import escape

from fontTools.ttLib import TTFont

from scenes.render.errors import RenderEnvironmentError, RenderError, RenderInputError

FontName = Literal["text", "mono"]

SOURCES: dict[tuple[FontName, int], str] = {
    ("text", 400): "inter-ui/web/Inter-Regular.woff2",
    ("text", 500): "inter-ui/web/Inter-Medium.woff2",
    ("text", 600): "inter-ui/web/Inter-SemiBold.woff2",
    ("text", 700): "inter-ui/web/Inter-Bold.woff2",
    ("mono", 400): "jetbrains-mono/fonts/webfonts/JetBrainsMono-Regular.woff2",
    ("mono", 500): "jetbrains-mono/fonts/webfonts/JetBrainsMono-Medium.woff2",
    ("mono", 700): "jetbrains-mono/fonts/webfonts/JetBrainsMono-Bold.woff2",
}
"""Each face's file below ``node_modules``."""

FAMILIES: dict[FontName, str] = {"text": "Inter", "mono": "JetBrains Mono"}

_STAMP = "fonts.json"
_CONFIG = "fonts.conf"
_CONFIG_TEMPLATE = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">
<fontconfig>
  <dir>{folder}</dir>
  <cachedir>{folder}/cache</cachedir>
  <match target="font">
    <edit name="hinting" mode="assign"><bool>false</bool></edit>
    <edit name="autohint" mode="assign"><bool>false</bool></edit>
  </match>
</fontconfig>
"""

_folder: Path | None = None
_seen_by_pango: Path | None = None


def prepare_fonts(node_modules: Path, fonts_dir: Path) -> None:
    """Convert the typefaces to ttf and write a fontconfig file that sees only them; nothing if that is up to date.

    Args:
        node_modules: Where npm put the fonts.
        fonts_dir: The folder to fill, created if absent. Each file appears under its name only when it is whole.

    Raises:
        RenderEnvironmentError: A font file is missing.
    """
    sources = {face: node_modules / name for face, name in SOURCES.items()}
    for path in sources.values():
        if not path.is_file():
            raise RenderEnvironmentError(f"font file {path} is missing; install the fonts with: make deck")
    config = _CONFIG_TEMPLATE.format(folder=escape(str(fonts_dir.absolute())))
    digests = {_ttf_name(face): hashlib.sha256(path.read_bytes()).hexdigest() for face, path in sources.items()}
    stamp = json.dumps({"faces": digests, "config": config}, indent=1, sort_keys=True)
    if _is_whole(fonts_dir, stamp):
        return
    fonts_dir.mkdir(parents=True, exist_ok=True)
    for face, path in sources.items():
        staged = fonts_dir / f".{_ttf_name(face)}.{os.getpid()}.part"
        with TTFont(path, recalcTimestamp=False) as font:
            font.flavor = None
            font.save(staged)
        os.replace(staged, fonts_dir / _ttf_name(face))
    _replace_text(fonts_dir / _CONFIG, config)
    _replace_text(fonts_dir / _STAMP, stamp)


def use_fonts(fonts_dir: Path) -> None:
    """Let Pango and this package see the typefaces of ``fonts_dir`` and no others.

    Raises:
        RenderEnvironmentError: The folder was not prepared.
        RenderError: Pango has already set text in other fonts; it reads its configuration only once.
    """
    global _folder
    config = fonts_dir / _CONFIG
    if not (fonts_dir / _STAMP).is_file() or not config.is_file():
        raise RenderEnvironmentError(f"no fonts in {fonts_dir}; prepare them with: make deck")
    if _seen_by_pango not in (None, fonts_dir):
        raise RenderError(f"this process has already set text in the fonts of {_seen_by_pango}")
    os.environ["FONTCONFIG_FILE"] = str(config)
    _folder = fonts_dir
    _face.cache_clear()
    fonts_identity.cache_clear()


def note_pango_use() -> None:
    """Say that Pango is about to set text, and so to read which fonts there are."""
    global _seen_by_pango
    _seen_by_pango = _used_folder()


@cache
def fonts_identity() -> str:
    """Return a digest of the typefaces in use, for cache keys."""
    faces = json.loads((_used_folder() / _STAMP).read_text(encoding="utf-8"))["faces"]
    return hashlib.sha256(json.dumps(faces, sort_keys=True).encode()).hexdigest()


def face(font: FontName, weight: int) -> TTFont:
    """Return an opened face; its tables are read when they are asked for.

    Raises:
        RenderError: There is no such weight.
    """
    if (font, weight) not in SOURCES:
        weights = ", ".join(str(w) for name, w in SOURCES if name == font)
        raise RenderError(f"{FAMILIES[font]} has no weight {weight}; weights: {weights}")
    return _face(font, weight)


def missing_glyphs(text: str, font: FontName, weight: int) -> str:
    """Return the characters of ``text`` that the face has no glyph for, each once, in order."""
    has = face(font, weight).getBestCmap()
    return "".join(dict.fromkeys(character for character in text if ord(character) not in has))


def require_glyphs(text: str, font: FontName, weight: int) -> None:
    """Check that every character can be drawn.

    Raises:
        RenderInputError: Some cannot; the message names the text and the characters.
    """
    missing = missing_glyphs(text, font, weight)
    if missing:
        named = ", ".join(f"{character!r} (U+{ord(character):04X})" for character in missing)
        raise RenderInputError(f"text {text!r}: {FAMILIES[font]} has no glyph for {named}; change the text")


@cache
def _face(font: FontName, weight: int) -> TTFont:
    return TTFont(_used_folder() / _ttf_name((font, weight)), lazy=True)


def _used_folder() -> Path:
    if _folder is None:
        raise RenderError("no fonts chosen; call use_fonts first")
    return _folder


def _ttf_name(key: tuple[FontName, int]) -> str:
    return Path(SOURCES[key]).with_suffix(".ttf").name


def _is_whole(fonts_dir: Path, stamp: str) -> bool:
    path = fonts_dir / _STAMP
    names = [_CONFIG, *map(_ttf_name, SOURCES)]
    return (
        path.is_file()
        and path.read_text(encoding="utf-8") == stamp
        and all((fonts_dir / name).is_file() for name in names)
    )


def _replace_text(path: Path, text: str) -> None:
    staged = path.with_name(f".{path.name}.{os.getpid()}.part")
    staged.write_text(text, encoding="utf-8")
    os.replace(staged, path)

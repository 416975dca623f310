"""Style sheets of the HTML deck: the theme as CSS variables, the typefaces, reveal.js and our own rules.

A variable is called after its table and key, without the unit: ``[colour] surface`` is ``--colour-surface``,
``[role] prefill_edge`` is ``--role-prefill-edge``, ``[size] title_px`` is ``--size-title`` (a length in px of the
1920 × 1080 page), ``[motion] fade_s`` is ``--motion-fade`` (a time).
"""

from __future__ import annotations

import tomllib
from pathlib import Path

from spanreel import paths
from spanreel.errors import EnvironmentLackError
from spanreel.page_media import base64_text

PLAYER = paths.ROOT / "slides" / "player"

_UNITS = {"px": "px", "s": "s"}
_INTER = "inter-ui/web/Inter-{}.woff2"
_MONO = "jetbrains-mono/fonts/webfonts/JetBrainsMono-{}.woff2"
_FACES = (
    ("text", 400, _INTER.format("Regular")),
    ("text", 600, _INTER.format("SemiBold")),
    ("text", 700, _INTER.format("Bold")),
    ("mono", 400, _MONO.format("Regular")),
    ("mono", 700, _MONO.format("Bold")),
)


def theme_css(theme_file: Path) -> str:
    """Return the theme as variables of the root element."""
    theme = tomllib.loads(theme_file.read_text(encoding="utf-8"))
    rules = [_variable(table, key, value) for table, entries in theme.items() for key, value in entries.items()]
    return ":root {\n" + "".join(f"  {rule}\n" for rule in rules) + "}\n"


def font_css(theme_file: Path) -> str:
    """Return the typefaces as rules that carry their fonts.

    Raises:
        EnvironmentLackError: A font file is missing.
    """
    families = tomllib.loads(theme_file.read_text(encoding="utf-8"))["font"]
    return "".join(
        f'@font-face {{ font-family: "{families[role]}"; font-weight: {weight}; font-display: block; '
        f'src: url("data:font/woff2;base64,{base64_text(_package_file(file))}") format("woff2"); }}\n'
        for role, weight, file in _FACES
    )


def shell_css() -> str:
    """Return reveal.js's own rules.

    Raises:
        EnvironmentLackError: The package is missing.
    """
    return shell_text("dist/reset.css") + "\n" + shell_text("dist/reveal.css")


def player_css() -> str:
    """Return our rules: the deck's own first, the live panels' last."""
    own = PLAYER / "deck.css"
    others = sorted(file for file in PLAYER.glob("*.css") if file != own)
    return "\n".join(file.read_text(encoding="utf-8") for file in (own, *others))


def shell_text(name: str) -> str:
    """Return a text file of the reveal.js package.

    Raises:
        EnvironmentLackError: It is missing.
    """
    return _package_file(f"reveal.js/{name}").decode("utf-8")


def _variable(table: str, key: str, value: str | float) -> str:
    name, _, unit = key.rpartition("_")
    if unit in _UNITS:
        return f"--{table}-{_dashed(name)}: {value}{_UNITS[unit]};"
    written = f'"{value}"' if table == "font" else value
    return f"--{table}-{_dashed(key)}: {written};"


def _dashed(key: str) -> str:
    return key.replace("_", "-")


def _package_file(name: str) -> bytes:
    try:
        return (paths.NODE_MODULES / name).read_bytes()
    except OSError as error:
        raise EnvironmentLackError(
            f"node_modules/{name} is not here ({error.strerror}); install it with: make deck"
        ) from error

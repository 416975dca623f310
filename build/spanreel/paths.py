"""Where things lie in a checkout, and how a set is found by name."""

from __future__ import annotations

import tomllib
from pathlib import Path

from spanreel.errors import InputError

ROOT = Path(__file__).resolve().parents[2]
RECORDED = ROOT / "traces" / "recorded"
OUT = ROOT / "out"
CACHE = OUT / ".cache"
THEME = ROOT / "slides" / "theme.toml"
TALK = ROOT / "slides" / "talk.toml"
NODE_MODULES = ROOT / "node_modules"


def default_set_name() -> str:
    """Return the set that ``slides/talk.toml`` names."""
    with TALK.open("rb") as file:
        name: str = tomllib.load(file)["set"]
    return name


def set_dir(name: str | None) -> Path:
    """Return the folder of a set: a path that holds ``set.json``, or a name under ``traces/recorded``.

    Raises:
        InputError: There is no such set; the message lists those that exist.
    """
    wanted = name or default_set_name()
    for candidate in (RECORDED / wanted, Path(wanted).expanduser()):
        if (candidate / "set.json").is_file():
            return candidate.resolve()
    known = ", ".join(sorted(p.parent.name for p in RECORDED.glob("*/set.json"))) or "none yet"
    raise InputError(f"no trace set {wanted!r}; recorded sets: {known}. Record one with: spanreel profile")

"""Which source a trace was recorded with."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def source_state(root: Path = ROOT) -> tuple[str, bool]:
    """Return the commit, and whether files differ from it; an installation without git has no commit."""
    commit = _git(root, "rev-parse", "HEAD")
    if commit is None:
        return "unknown", True
    return commit, bool(_git(root, "status", "--porcelain"))


def _git(root: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *arguments],  # noqa: S607 (git is found on the path)
            capture_output=True, text=True, check=True,
        )  # fmt: skip
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()

"""Plain progress lines."""

from __future__ import annotations

import contextlib
import sys


def say(line: str) -> None:
    """Print a line at once; a reader that has gone away is no error."""
    with contextlib.suppress(BrokenPipeError):
        sys.stdout.write(line + "\n")
        sys.stdout.flush()

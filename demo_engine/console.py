"""Plain lines for a person or a program that reads along."""

from __future__ import annotations

import errno
import os
import sys
from typing import TextIO

_GONE = (errno.EPIPE, errno.EIO)
"""What writing meets when the reader of a pipe has gone away, or the terminal has closed."""


def say(line: str) -> None:
    """Print a line at once; a reader that has gone away is no error."""
    _write(sys.stdout, line)


def complain(line: str) -> None:
    """Print a line on standard error, in the same way."""
    _write(sys.stderr, line)


def _write(stream: TextIO, line: str) -> None:
    try:
        stream.write(line + "\n")
        stream.flush()
    except OSError as error:
        if error.errno not in _GONE:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())  # what is still held back would fail again at exit

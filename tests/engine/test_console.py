"""Lines for a reader who may go away."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest

CHATTER = """
import sys, time
from demo_engine.console import complain, say
say("first")
sys.stdin.readline()
say("second"); say("third"); complain("fourth")
raise SystemExit(7)
"""


@pytest.mark.parametrize("kind", ["pipe", "terminal"])
def test_a_reader_that_goes_away_changes_nothing(kind):
    """The program goes on to its own exit code, without a word about it."""
    near, far = os.pipe() if kind == "pipe" else pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", CHATTER], stdin=subprocess.PIPE, stdout=far, stderr=far if kind == "terminal" else -1
    )
    os.close(far)
    assert os.read(near, 100).split() == [b"first"]
    os.close(near)
    _, error = process.communicate(b"\n")
    assert process.returncode == 7
    assert error in (None, b"fourth\n")

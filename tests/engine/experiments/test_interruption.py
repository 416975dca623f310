"""Ctrl-C in the middle of a profile: a line, the right exit code, no process left, nothing lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from traces import load_set

pytestmark = [pytest.mark.slow, pytest.mark.engine]

ONLY = "e04,e12"


def command(out):
    """Return a profile of two short experiments."""
    verb = ["profile", "--only", ONLY, "--quick", "--anyway", "--set", "cut", "--out", str(out)]
    return [sys.executable, "-m", "demo_engine", *verb]


def descendants(pid):
    """Return the processes that come from one, however many generations."""
    children = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        children.setdefault(int(fields[1]), []).append(int(stat.parent.name))
    found, queue = [], [pid]
    while queue:
        queue += children.get(queue.pop(), [])
        found = [*found, *queue]
    return set(found)


def is_alive(pid):
    """Whether a process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_profile_is_interrupted_and_goes_on(tmp_path):
    """What was finished is kept as a valid set under no final name; the same command measures the rest."""
    process = subprocess.Popen(
        command(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"}, start_new_session=True,
    )  # fmt: skip
    for line in process.stdout:
        if line.startswith("e12"):
            break
    time.sleep(1)  # somewhere in the second experiment
    started = descendants(process.pid)
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert error == "interrupted\n"
    assert "kept: e04-template.json; the same command goes on from there" in out
    assert len(started) >= 3
    assert [pid for pid in started if is_alive(pid)] == []
    assert not (tmp_path / "cut").exists()
    (kept,) = tmp_path.iterdir()
    assert list(load_set(kept).experiments) == ["e04"]

    again = subprocess.run(command(tmp_path), capture_output=True, text=True, check=False)
    assert again.returncode == 0, again.stderr
    assert "measured already: e04-template.json" in again.stdout
    assert "\ne04 " not in again.stdout
    assert sorted(load_set(tmp_path / "cut").experiments) == ["e04", "e12"]
    assert [entry.name for entry in tmp_path.iterdir()] == ["cut"]

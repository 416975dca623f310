"""The presenter with the real engine, through the command line."""

from __future__ import annotations

import json
import subprocess
import sys

import psutil
import pytest

from present_kit import make_fast_set

pytestmark = [pytest.mark.engine, pytest.mark.slow]


def _spanreel(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "spanreel", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False, stdin=subprocess.DEVNULL)
    left = [each.info["cmdline"] for each in psutil.process_iter(["cmdline"]) if each.info["cmdline"] and
            "spanreel.present.keeper" in each.info["cmdline"] and each.ppid() == 1]  # fmt: skip
    assert left == [], "a keeper has lost its starter and lives on"
    return done


def test_a_rehearsal_with_the_real_engine_passes(tmp_path):
    """``present --rehearse --json`` runs the recorded request and prints one object."""
    done = _spanreel("present", "--rehearse", "--json", "--set", str(make_fast_set(tmp_path)))
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["ok"] is True
    assert report["demos"][0]["e2e_ns"] >= report["demos"][0]["ttft_ns"] > 0


def test_the_demo_in_a_terminal_draws_every_lane(tmp_path):
    """``demo one-request --terminal`` prints a lane for each component that worked, and the answer."""
    done = _spanreel("demo", "one-request", "--terminal", "--set", str(make_fast_set(tmp_path)))
    assert done.returncode == 0, done.stderr
    lanes = [line.split()[0] for line in done.stdout.splitlines() if "█" in line or "░" in line]
    assert lanes == ["client", "gateway", "tokenizer", "router", "queue", "model"]

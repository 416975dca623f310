"""``spanreel traces`` as a user runs it: what it prints, and its exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from trace_factory import MS, make_experiment, make_run, make_set


def spanreel_traces(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run the verb in a process of its own."""
    command = [sys.executable, "-m", "spanreel", "traces", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_show_prints_the_request_stage_by_stage(tmp_path: Path) -> None:
    """Every stage of the path is a line, and the shares are of the end-to-end time."""
    done = spanreel_traces("show", make_set(tmp_path))
    assert done.returncode == 0
    assert "16 tokens" in done.stdout
    assert any(line.split() == ["prefill", "850", "ms", "36.08%"] for line in done.stdout.splitlines())


def test_show_as_json_is_one_object(tmp_path: Path) -> None:
    """The object holds the sums by name in nanoseconds, and they add up."""
    shown = json.loads(spanreel_traces("show", make_set(tmp_path), "--json").stdout)
    arm = shown["arms"][0]
    assert shown["ok"] is True
    assert sum(arm["by_name_ns"].values()) == arm["e2e_ns"]


def test_check_of_a_sound_set_says_ok(tmp_path: Path) -> None:
    """Exit 0, with and without JSON."""
    folder = make_set(tmp_path)
    assert spanreel_traces("check", folder).stdout == "synthetic: ok (e23)\n"
    assert json.loads(spanreel_traces("check", folder, "--json").stdout)["ok"] is True


def test_check_fails_on_too_much_unnamed_time(tmp_path: Path) -> None:
    """Unattributed time above the limit exits 1 and names the request."""
    run = make_run(tokens=2)
    request = run.requests[0]
    spans = [*request.spans[:-1], msgspec.structs.replace(request.spans[-1], start_ns=5_000 * MS)]
    run = msgspec.structs.replace(run, requests=[msgspec.structs.replace(request, spans=spans)])
    done = spanreel_traces("check", make_set(tmp_path, make_experiment(run)))
    assert done.returncode == 1
    assert "request r7" in done.stderr
    assert "unattributed" in done.stderr


@pytest.mark.parametrize(("old", "new", "code"), [(b'"r7"', b'"r8"', 2), (b"850000000", b"850000001", 3)])
def test_check_tells_broken_from_altered(tmp_path: Path, old: bytes, new: bytes, code: int) -> None:
    """A file that breaks an invariant exits 2, a sound one with another digest exits 3; both in one line."""
    folder = make_set(tmp_path)
    file = folder / "e23-one-request.json"
    file.write_bytes(file.read_bytes().replace(old, new, 1))
    done = spanreel_traces("check", folder)
    assert done.returncode == code
    assert len(done.stderr.splitlines()) == 1
    assert "spanreel profile" in done.stderr


@pytest.mark.parametrize("verb", ["diff", "export"])
def test_what_comes_later_says_so(verb: str) -> None:
    """One line, exit 2, and what to use meanwhile."""
    done = spanreel_traces(verb, "a", "b", "--format", "otlp")
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "later" in done.stderr


def test_an_unknown_set_lists_the_known_ones() -> None:
    """A name that is no set exits 2 with one line."""
    done = spanreel_traces("show", "no-such-set")
    assert done.returncode == 2
    assert "no trace set 'no-such-set'; recorded sets:" in done.stderr

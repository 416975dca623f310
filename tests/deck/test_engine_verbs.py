"""``serve`` and ``profile`` hand over to the engine: its options, its signals, its exit code."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from click.testing import CliRunner

from spanreel import engine, packages, paths
from spanreel.commands import bench, profile, serve


@pytest.fixture
def handed_over(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Collect the commands that this process would become."""
    commands: list[list[str]] = []
    monkeypatch.setattr(packages, "missing", lambda _: [])
    monkeypatch.setattr(engine.os, "execv", lambda _, command: commands.append(command))
    return commands


def test_serve_passes_its_options_on(handed_over: list[list[str]]) -> None:
    """The engine gets host, port and threads; the token is not among the arguments, where others could read it."""
    CliRunner().invoke(serve.command, ["--port", "8000", "--threads", "2"])
    assert handed_over == [
        [sys.executable, "-m", "demo_engine", "serve", "--host=127.0.0.1", "--port=8000", "--threads=2"]
    ]


def test_profile_writes_to_the_recorded_sets_unless_told_otherwise(handed_over: list[list[str]]) -> None:
    """Without options only the folder and the threads are passed; flags and names follow when given."""
    CliRunner().invoke(profile.command, [])
    CliRunner().invoke(profile.command, ["--quick", "--set", "mine", "--out", "there", "--only", "one-request"])
    default, chosen = ([*command[4:]] for command in handed_over)
    assert default == ["--threads=1", f"--out={paths.RECORDED}"]
    assert chosen == ["--only=one-request", "--quick", "--threads=1", "--set=mine", "--out=there"]


@pytest.mark.parametrize("what", ["engine", "tracing"])
def test_bench_hands_over_what_is_about_the_engine(handed_over: list[list[str]], what: str) -> None:
    """Engine and tracing run in the engine's own process, with the same options."""
    CliRunner().invoke(bench.command, [what])
    CliRunner().invoke(bench.command, [what, "--json", "--quick"])
    plain, chosen = ([*command[3:]] for command in handed_over)
    assert plain == ["bench", what]
    assert chosen == ["bench", "--json", "--quick", what]


@pytest.mark.parametrize("verb", [serve, profile])
def test_missing_engine_packages_are_named_with_the_command(monkeypatch: pytest.MonkeyPatch, verb) -> None:
    """Exit 4 in one line."""
    monkeypatch.setattr(packages, "missing", lambda _: ["torch", "transformers"])
    done = CliRunner().invoke(verb.command, [])
    assert done.exit_code == 4
    assert done.stderr == (
        "Error: Python packages not installed: torch, transformers. Install them with: make setup-engine\n"
    )


@pytest.mark.engine
def test_exit_code_and_words_are_the_engines(tmp_path: Path) -> None:
    """What the engine refuses, it refuses in its own words and with its own code."""
    command = [sys.executable, "-m", "spanreel", "profile", "--only", "nonsense", "--out", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "nonsense" in done.stderr
    assert not any(tmp_path.iterdir())


@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_served_engine_whole(number: signal.Signals) -> None:
    """The address and the token come first; after the signal no process of the engine is left."""
    command = [sys.executable, "-m", "spanreel", "serve"]
    environment = os.environ | {"SPANREEL_TOKEN": "a-token-for-this-test"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as server:
        assert server.stdout is not None
        lines = [server.stdout.readline() for _ in range(3)]
        family = [psutil.Process(server.pid), *psutil.Process(server.pid).children(recursive=True)]
        assert lines[0].startswith("spanreel engine at http://127.0.0.1:")
        assert lines[1:] == ["token a-token-for-this-test\n", "ready\n"]
        assert not any("a-token-for-this-test" in " ".join(process.cmdline()) for process in family)
        server.send_signal(number)
        server.wait(timeout=60)
    _, alive = psutil.wait_procs(family, timeout=30)
    assert alive == []

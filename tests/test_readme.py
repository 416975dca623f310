"""What the README tells people to type works as it stands."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from spanreel import paths

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
COMMANDS = [line.split("#")[0].strip() for block in BLOCKS for line in block.splitlines() if line.strip()]
LONG_RUNNING = {
    "make test": "these tests",
    "make check": "continuous integration runs it before the tests",
    "make bench": "tests/scenes/test_render_bench.py runs what is behind it",
    "make present": "tests/browser/test_present.py runs what is behind it",
    "make profile": "tests/engine/test_one_request.py runs what is behind it",
}
"""Commands that are not run to their end here, and where they are."""


def run(command: str) -> subprocess.CompletedProcess[str]:
    """Run a command in the checkout, as a user would."""
    return subprocess.run(
        shlex.split(command), cwd=ROOT, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )


def test_the_readme_shows_two_commands_first():
    """One sets everything up and builds the deck, one sets up and runs the tests."""
    assert COMMANDS[:2] == ["make deck", "make test"]


@pytest.mark.parametrize("command", sorted(LONG_RUNNING))
def test_every_long_running_command_is_shown_and_known_to_make(command):
    """Make knows how to make each of them."""
    assert command in COMMANDS
    planned = run(command.replace("make", "make --dry-run"))
    assert planned.returncode == 0, planned.stderr
    assert planned.stdout.strip()


@pytest.mark.slow
@pytest.mark.parametrize("command", [command for command in COMMANDS if command not in LONG_RUNNING])
def test_every_other_command_of_the_readme_succeeds(command):
    """In the order of the README; NAME stands for a set, here the talk's own."""
    done = run(command.replace("NAME", paths.default_set_name()))
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.strip()


def test_the_pictures_and_folders_that_the_readme_names_exist():
    """Each link and each folder of the table is there, and the picture is small enough for a page."""
    pictures = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", README)
    folders = re.findall(r"^\| `([a-z_/]+/)` \|", README, re.MULTILINE)
    assert pictures
    assert folders
    assert all((ROOT / picture).stat().st_size <= 300 * 1024 for picture in pictures)
    assert all((ROOT / folder).is_dir() for folder in folders)

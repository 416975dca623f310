"""A process that dies in the middle of a run ends that run alone; the next one has whole processes again."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from demo_engine.client.records import Call, RunPlan
from demo_engine.core.config import EngineConfig
from demo_engine.errors import EngineError
from demo_engine.experiments.engines import Engines
from demo_engine.experiments.plan import ArmPlan
from demo_engine.weights import DEFAULT_MODEL, open_model

pytestmark = [pytest.mark.slow, pytest.mark.engine]

SHORT = RunPlan([Call("r1", "Once upon a time", 2, chat=False)])
LONG = RunPlan([Call("r1", "Once upon a time", 400, chat=False)])
ARM = ArmPlan("A", "alone", EngineConfig(max_model_len=1024), lambda _: LONG)


def processes(word):
    """Return this process's descendants whose command line holds a word."""
    parents = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    family = {os.getpid()}
    while found := {child for child, parent in parents.items() if parent in family} - family:
        family |= found
    commands = {pid: Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0") for pid in family - {os.getpid()}}
    return [pid for pid, command in commands.items() if word in command]


@pytest.mark.parametrize(
    ("word", "message"),
    [
        (b"demo_engine.runner", "the engine's process ended during a run"),
        (b"demo_engine.client", "the client ended"),
    ],
)
def test_a_process_is_killed_in_the_middle_of_a_run(word, message):
    """The run is refused, and nothing is left running."""

    def kill():
        time.sleep(2)
        for pid in processes(word):
            os.kill(pid, signal.SIGKILL)

    with Engines(DEFAULT_MODEL, open_model().id) as engines:
        assert engines.run(ARM, SHORT).calls[0].failure is None
        killer = threading.Thread(target=kill)
        killer.start()
        with pytest.raises(EngineError, match=message):
            engines.run(ARM, LONG)
        killer.join()
        assert engines.run(ARM, SHORT).calls[0].failure is None
    assert processes(word) == []

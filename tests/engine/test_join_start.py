"""A server's start on the path of the request that waited for it."""

from __future__ import annotations

import os
import subprocess
import sys

import msgspec
import pytest

from call_factory import MS, ZERO, make_plan, make_result
from demo_engine.errors import EngineError
from demo_engine.recorder.join import join_run
from demo_engine.recorder.join_start import join_started_run
from demo_engine.recorder.memory import resident_bytes
from demo_engine.recorder.span_types import span_types
from demo_engine.recorder.startup import Launch, StartStamps
from traces import SCHEMA_VERSION, request_path
from traces.check import check_experiment
from traces.metrics import e2e_ns, ttft_ns
from traces.schema import Arm, Exemplar, Experiment, Prediction

LAUNCH_NS = ZERO - 3000 * MS
LAUNCH = Launch(7, LAUNCH_NS, StartStamps(LAUNCH_NS + 800 * MS, LAUNCH_NS + 2000 * MS, LAUNCH_NS + 2900 * MS))


def make_experiment(run):
    """Return an experiment of one run."""
    arm = Arm("A", "new process", {}, [run], Exemplar(0, "r1", "by hand"))
    prediction = Prediction("by hand", {}, 1, 1, "0" * 64)
    return Experiment(SCHEMA_VERSION, "e24", "cold-start", "?", prediction, span_types(1), [arm])


def test_the_path_begins_with_the_parts_of_the_start(tmp_path):
    """Launch, imports, load, and the wait until the client sends; then the request as it would be without."""
    plan, result = make_plan("r1"), make_result()
    run = join_started_run(plan, result, LAUNCH)
    experiment = make_experiment(run)
    check_experiment(experiment, tmp_path)
    path = request_path(experiment, run, run.requests[0])
    parts = [(span.name, span.duration_ns // MS) for span in path[:4]]
    assert parts == [("launch", 800), ("imports", 1200), ("load", 900), ("ready", 100)]
    plain = join_run(plan, result)
    without = request_path(make_experiment(plain), plain, plain.requests[0])
    assert [(s.name, s.duration_ns) for s in path[4:]] == [(s.name, s.duration_ns) for s in without]


def test_every_time_of_the_request_counts_from_the_launch(tmp_path):
    """First token, last byte, steps and the run's clock: all later by the start, and by nothing else."""
    plan, result = make_plan("r1"), make_result()
    run, plain = join_started_run(plan, result, LAUNCH), join_run(plan, result)
    first, before = run.requests[0], plain.requests[0]
    assert first.intended_start_ns == 0
    assert run.clock.start_wall_ns == LAUNCH.wall_ns
    assert ttft_ns(first) == ttft_ns(before) + 3000 * MS
    assert first.tokens.recv_gap_ns[1:] == before.tokens.recv_gap_ns[1:]
    ends = [e2e_ns(request_path(make_experiment(one), one, one.requests[0])) for one in (run, plain)]
    assert ends[0] == ends[1] + 3000 * MS
    zero_ns = result.start_perf_ns - LAUNCH_NS
    assert run.steps.start_ns == [at + zero_ns for at in plain.steps.start_ns]


def test_stamps_out_of_order_are_an_error():
    """Parts that overlap would be drawn over one another."""
    stamps = msgspec.structs.replace(LAUNCH.stamps, loaded_ns=ZERO + MS)
    with pytest.raises(EngineError, match="not in order"):
        join_started_run(make_plan("r1"), make_result(), msgspec.structs.replace(LAUNCH, stamps=stamps))


def test_memory_is_that_of_a_process_and_its_children():
    """A child that holds 64 MB makes its parent's family larger by that; a process that is gone has none."""
    program = "import sys; held = bytearray(64 << 20); print('held', flush=True); sys.stdin.read()"
    alone = resident_bytes(os.getpid())
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        child.stdout.readline()
        family, single = resident_bytes(os.getpid()), resident_bytes(child.pid)
        child.stdin.close()
    assert single >= 64 << 20
    assert family >= alone + (60 << 20)
    assert resident_bytes(child.pid) is None

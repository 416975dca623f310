"""A server that starts for one request, with real processes."""

from __future__ import annotations

import time
from functools import partial

import psutil
import pytest

from demo_engine.client.records import Call, RunPlan
from demo_engine.core.config import EngineConfig
from demo_engine.experiments.engines import Engines
from demo_engine.experiments.harness import measure
from demo_engine.experiments.plan import ArmPlan, ExperimentPlan
from demo_engine.experiments.prediction import predicted
from toy_server import write_toy_folder
from traces import request_path
from traces.check import check_experiment, unattributed_faults
from traces.outcomes.startup import RESIDENT, START_NAMES, start_ns

pytestmark = [pytest.mark.slow, pytest.mark.engine]


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """One run of a new process and one of a process that is kept, how long both took, and what was left running."""
    folder = write_toy_folder(tmp_path_factory.mktemp("toy"))
    config = EngineConfig(max_model_len=256, num_kv_blocks=64)
    arm = partial(ArmPlan, engine=config, make_run=lambda seed: RunPlan([Call("r1", f"word {seed}", 2, chat=False)]))
    plan = ExperimentPlan(
        "e24", "cold-start", "?", [arm("A", "new process", new_process=True), arm("B", "warm process")],
        predicted("ttft", "a guess", {}, 1), "alone", num_rounds=1, budget_s=1, num_warmups=0,
    )  # fmt: skip
    before = set(psutil.Process().children(recursive=True))
    began_ns = time.perf_counter_ns()
    with Engines(str(folder), folder.name) as engines:
        experiment = measure(plan, engines, lambda _line: None, quick=True)
    took_ns = time.perf_counter_ns() - began_ns
    return experiment, took_ns, set(psutil.Process().children(recursive=True)) - before


def test_the_first_request_waits_for_every_part_of_the_start(measured, tmp_path):
    """Its path begins with them, without a hole, and takes no longer than the whole measurement."""
    experiment, took_ns, _ = measured
    check_experiment(experiment, tmp_path)
    assert unattributed_faults(experiment) == []
    run = experiment.arms[0].runs[0]
    path = request_path(experiment, run, run.requests[0])
    assert tuple(span.name for span in path[: len(START_NAMES) + 1]) == (*START_NAMES, "prepare")
    assert min(span.duration_ns for span in path[: len(START_NAMES)]) > 0
    assert sum(span.duration_ns for span in path) == path[-1].end_ns < took_ns


def test_a_warm_process_has_no_start_and_holds_memory(measured):
    """And the new one holds none, since it ends with its run."""
    experiment, _, _ = measured
    cold, warm = (arm.runs[0] for arm in experiment.arms)
    assert start_ns(experiment, warm, warm.requests[0]) == 0 < start_ns(experiment, cold, cold.requests[0])
    assert list(RESIDENT.of_run(experiment, cold)) == [0]
    assert RESIDENT.of_run(experiment, warm)[0] > 50e6  # two interpreters, one of them with torch


def test_nothing_is_left_running(measured):
    """Neither servers nor clients nor engines."""
    _, _, left = measured
    assert left == set()

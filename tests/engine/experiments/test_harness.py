"""The harness, on engines whose every time is known: order, warm-ups, stop rule, exemplar, failures."""

from __future__ import annotations

import itertools
from dataclasses import replace

import msgspec
import pytest

from call_factory import MS
from demo_engine.client.records import ConnectionUse, RunResult
from demo_engine.errors import EngineError
from demo_engine.experiments import harness
from demo_engine.experiments.harness import measure
from demo_engine.network.config import EdgeConfig
from experiment_factory import KnownEngines, make_experiment_plan
from traces.check import check_experiment
from traces.metrics import e2e_ns
from traces.spans import request_path


def nothing(_line):
    """Ignore progress."""


def test_the_arms_alternate_and_get_the_same_load():
    """Each round runs every arm on the same prompts, every second round backwards, after the warm-ups."""
    engines = KnownEngines()
    measure(make_experiment_plan(num_rounds=3), engines, nothing)
    assert [arm for arm, _ in engines.asked] == ["A", "B", "A", "B", "B", "A", "A", "B"]
    prompts = [prompt for _, prompt in engines.asked]
    assert prompts[0::2] == prompts[1::2]
    assert len(set(prompts)) == 4


def test_warm_ups_stay_in_the_file_and_do_not_count(tmp_path):
    """They are marked, and neither chosen as the exemplar nor counted in its rule."""
    experiment = measure(make_experiment_plan(num_rounds=3, num_warmups=2), KnownEngines(), nothing)
    check_experiment(experiment, tmp_path)
    for arm in experiment.arms:
        assert [run.requests[0].phase for run in arm.runs] == ["warmup", "warmup", "measure", "measure", "measure"]
        assert arm.exemplar.run >= 2
        assert arm.exemplar.rule == "median E2E of n=3"


def test_the_exemplar_is_the_run_in_the_middle():
    """Of three runs the middle one by the metric is shown, wherever it stands."""
    # Asked in the order A B (warm-up), A B, B A, A B.
    engines = KnownEngines(extra_ms=(0, 0, 9, 0, 0, 1, 5, 0))
    experiment = measure(make_experiment_plan(num_rounds=3), engines, nothing)
    arm = experiment.arms[0]
    assert arm.exemplar.run == 3
    times = [e2e_ns(request_path(experiment, run, run.requests[0])) for run in arm.runs[1:]]
    assert sorted(times).index(times[arm.exemplar.run - 1]) == 1


def test_time_stops_it_but_not_before_four_rounds(monkeypatch):
    """When the budget is used up no round begins; four are made in any case, one with ``quick``."""
    clock = itertools.count(step=10.0)
    monkeypatch.setattr(harness.time, "monotonic", lambda: next(clock))
    stopped = measure(make_experiment_plan(num_rounds=50, budget_s=1.0), KnownEngines(), nothing)
    assert (stopped.workload["rounds"], stopped.workload["stopped_by"]) == (4, "time")
    quick = measure(make_experiment_plan(num_rounds=50, budget_s=1.0), KnownEngines(), nothing, quick=True)
    assert (quick.workload["rounds"], quick.workload["stopped_by"]) == (1, "time")
    full = measure(make_experiment_plan(num_rounds=5, budget_s=1e9), KnownEngines(), nothing)
    assert (full.workload["rounds"], full.workload["stopped_by"]) == (5, "rounds")


def test_an_arm_stores_its_whole_engine_and_what_it_varies():
    """The one line in which two arms differ can be read from the file."""
    first, second = measure(make_experiment_plan(num_rounds=1), KnownEngines(), nothing, quick=True).arms
    differing = {k for k in first.settings["engine"] if first.settings["engine"][k] != second.settings["engine"][k]}
    assert differing == {"enable_prefix_caching"}
    assert (first.settings["reuse"], second.settings["reuse"]) == (False, True)


def test_the_load_can_be_told_from_another():
    """The digest is over all prompts: the same plan gives the same, other prompts another."""
    digests = [
        measure(make_experiment_plan(num_rounds=rounds), KnownEngines(), nothing).workload["prompts_sha256"]
        for rounds in (3, 3, 4)
    ]
    assert digests[0] == digests[1] != digests[2]


def test_a_failed_request_is_counted_and_not_dropped():
    """It stands in every run with its reason, and the exemplar is one that was answered."""
    experiment = measure(make_experiment_plan(num_rounds=3, num_calls=2), KnownEngines(refused=True), nothing)
    for arm in experiment.arms:
        assert [run.requests[1].finish_reason for run in arm.runs] == ["error"] * 4
        assert arm.exemplar.request_id == "r0"


def test_a_wall_clock_that_is_set_meanwhile_is_noted_and_changes_no_duration():
    """The run says how far it jumped; its spans come from the monotonic clock."""

    class Stepping(KnownEngines):
        def run(self, arm, plan):
            """Set the wall clock forward by a minute."""
            result = super().run(arm, plan)
            return RunResult(1, result.start_perf_ns, 70 * MS + 1 + 60_000 * MS, result.end_perf_ns, result.calls)

    steady = measure(make_experiment_plan(num_rounds=1), KnownEngines(), nothing, quick=True).arms[0].runs[1]
    stepped = measure(make_experiment_plan(num_rounds=1), Stepping(), nothing, quick=True).arms[0].runs[1]
    assert "wall_step_ns" not in steady.host
    assert stepped.host["wall_step_ns"] == 60_000 * MS
    assert stepped.requests == steady.requests


def test_what_else_the_machine_did_stands_beside_each_run():
    """Steal and context switches are differences over the run, never negative."""
    run = measure(make_experiment_plan(num_rounds=1), KnownEngines(), nothing, quick=True).arms[0].runs[1]
    assert {"steal_ns", "context_switches"} <= set(run.host)
    assert all(value >= 0 for value in run.host.values())


def test_a_run_without_a_result_ends_the_experiment():
    """The harness does not go on with half a round."""

    class Dying(KnownEngines):
        def run(self, arm, plan):
            """End at the third run."""
            if len(self.asked) == 2:
                raise EngineError("the server ended")
            return super().run(arm, plan)

    with pytest.raises(EngineError, match="the server ended"):
        measure(make_experiment_plan(), Dying(), nothing)


def test_an_arm_says_how_its_requests_reach_the_server():
    """Connections, TLS contexts and what stands between stand in its settings; a direct way has no edge."""
    plan = make_experiment_plan(num_rounds=1)
    direct, linked = plan.arms
    make_run = linked.make_run
    use = ConnectionUse("reused")
    linked = replace(
        linked, edge=EdgeConfig(link_delay_ms=20, link_tls=True),
        make_run=lambda seed: msgspec.structs.replace(make_run(seed), use=use),
    )  # fmt: skip
    experiment = measure(replace(plan, arms=[direct, linked]), KnownEngines(), nothing)
    first, second = (arm.settings for arm in experiment.arms)
    assert first["connection"] == "new for each request"
    assert not {"edge", "tls_context"} & first.keys()
    assert (second["connection"], second["tls_context"]) == ("opened before the run", "shared")
    assert second["edge"] == {"link_delay_ms": 20, "link_kbit_per_s": 0, "link_tls": True, "proxy": "none"}

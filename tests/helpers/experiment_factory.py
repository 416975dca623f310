"""An experiment of two arms, and engines whose every time is known. Nothing here is a measurement."""

from __future__ import annotations

import itertools

from call_factory import MS, ZERO, make_call
from demo_engine.client.records import Call, CallRecord, CallResult, RunPlan, RunResult
from demo_engine.core.config import EngineConfig
from demo_engine.experiments.plan import ArmPlan, ExperimentPlan
from demo_engine.experiments.prediction import predicted


class KnownEngines:
    """Answers every run at once; the end-to-end times are given."""

    def __init__(self, extra_ms=(), refused=False) -> None:
        self.asked: list[tuple[str, str]] = []
        self.num_stops = 0
        self._extra_ms = itertools.chain(extra_ms, itertools.repeat(0))
        self._refused = refused

    def stop_all(self):
        """Count."""
        self.num_stops += 1

    def run(self, arm, plan):
        """Note who was asked for what."""
        self.asked.append((arm.id, plan.calls[0].prompt))
        done = make_call()
        done.client.end_ns += next(self._extra_ms) * MS
        calls = [done]
        if self._refused:
            calls.append(CallResult(CallRecord(ZERO, 0, 0, ZERO + MS), None, "the server answered 503: full"))
        return RunResult(1, ZERO - 10 * MS, 70 * MS + 1, ZERO + 60 * MS, calls)


def make_experiment_plan(*, id="e99", num_rounds=4, budget_s=1000.0, num_warmups=1, num_calls=1):
    """Return a plan of two arms that differ in one setting."""

    def make_run(seed):
        return RunPlan([Call(f"r{n}", f"prompt {seed}", 2) for n in range(num_calls)])

    arms = [
        ArmPlan("A", "off", EngineConfig(), make_run, {"reuse": False}),
        ArmPlan("B", "on", EngineConfig(enable_prefix_caching=True), make_run, {"reuse": True}),
    ]
    prediction = predicted("e2e", "guess", {"guess": 1}, 40 * MS, {"A": 40 * MS, "B": 20 * MS})
    return ExperimentPlan(id, "known", "Is it known?", arms, prediction, "alone", num_rounds, budget_s, num_warmups)

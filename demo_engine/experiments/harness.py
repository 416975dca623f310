"""One experiment from its plan to its trace: warm-ups, rounds in which the arms alternate, a budget of time."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import msgspec

from demo_engine.client.records import RunPlan
from demo_engine.errors import EngineError
from demo_engine.experiments.engines import Engines
from demo_engine.experiments.exemplar import choose_exemplar
from demo_engine.experiments.plan import ArmPlan, ExperimentPlan
from demo_engine.recorder.host import counters
from demo_engine.recorder.join import Phase, join_run
from demo_engine.recorder.join_start import join_started_run
from demo_engine.recorder.span_types import span_types
from traces import SCHEMA_VERSION, Experiment, Run
from traces.check import unattributed_faults
from traces.outcomes.startup import RESIDENT_GAUGE
from traces.schema import Arm

MIN_ROUNDS, MIN_QUICK_ROUNDS = 4, 1
FIRST_SEED, WARMUP_SEED = 1, 1_000_000
WALL_STEP_LIMIT_NS = 5_000_000
_COMMON_SETTINGS = {"temperature": 0, "ignore_eos": True}


@dataclass
class _Progress:
    """What has been measured so far."""

    runs: dict[str, list[Run]]
    prompts: Any = field(default_factory=hashlib.sha256)
    num_rounds: int = 0


def measure(plan: ExperimentPlan, engines: Engines, say: Callable[[str], None], *, quick: bool = False) -> Experiment:
    """Carry out an experiment.

    Args:
        plan: What to measure, predicted already.
        engines: Where the arms run.
        say: Called with a line after each round.
        quick: One round is enough when the time is over.

    Raises:
        EngineError: A run has no result, or leaves too much time without a name.
    """
    started_s = time.monotonic()
    progress = _Progress({arm.id: [] for arm in plan.arms})
    for number in range(plan.num_warmups):
        _round(plan.arms, WARMUP_SEED + number, "warmup", engines, progress)
    stopped_by = "time"
    while progress.num_rounds < (MIN_QUICK_ROUNDS if quick else MIN_ROUNDS) or (
        time.monotonic() - started_s < plan.budget_s
    ):
        # Every second round runs backwards, so that a steady drift of the machine favours no arm.
        arms = plan.arms if progress.num_rounds % 2 == 0 else plan.arms[::-1]
        _round(arms, FIRST_SEED + progress.num_rounds, "measure", engines, progress)
        progress.num_rounds += 1
        say(f"round {progress.num_rounds} of {plan.num_rounds}, {time.monotonic() - started_s:.0f} s")
        if progress.num_rounds >= plan.num_rounds:
            stopped_by = "rounds"
            break
    experiment = _experiment(plan, progress, stopped_by, time.monotonic() - started_s, quick=quick)
    faults = unattributed_faults(experiment)
    if faults:
        raise EngineError(f"{faults[0]}; measure again on a quiet machine")
    return experiment


def _round(arms: list[ArmPlan], seed: int, phase: Phase, engines: Engines, progress: _Progress) -> None:
    for arm in arms:
        plan = arm.make_run(seed)
        for call in plan.calls:
            progress.prompts.update(call.prompt.encode() + b"\0")
        progress.runs[arm.id].append(_run(arm, plan, phase, engines))


def _run(arm: ArmPlan, plan: RunPlan, phase: Phase, engines: Engines) -> Run:
    before = counters()
    result = engines.run(arm, plan)
    host = {name: value - before.get(name, value) for name, value in counters().items()}
    wall_ns, perf_ns = result.end_wall_ns - result.start_wall_ns, result.end_perf_ns - result.start_perf_ns
    if abs(wall_ns - perf_ns) > WALL_STEP_LIMIT_NS:
        host["wall_step_ns"] = wall_ns - perf_ns
    if result.launch is None:
        run = join_run(plan, result, phase)
    else:
        run = join_started_run(plan, result, result.launch, phase)
    gauges = {} if result.resident_bytes is None else {RESIDENT_GAUGE: [result.resident_bytes]}
    return msgspec.structs.replace(run, gauges=run.gauges | gauges, host=host)


def _experiment(
    plan: ExperimentPlan, progress: _Progress, stopped_by: str, elapsed_s: float, *, quick: bool
) -> Experiment:
    clocks = [run.clock for runs in progress.runs.values() for run in runs]
    types = span_types(max(c.bracket_ns for c in clocks), max(c.client_bracket_ns for c in clocks))
    bare = Experiment(
        SCHEMA_VERSION, plan.id, plan.name, plan.question, plan.prediction, types, [],
        {
            "arrival": plan.arrival, "quick": quick, "first_seed": FIRST_SEED,
            "prompts_sha256": progress.prompts.hexdigest(),
            "order": "arms alternate run by run, backwards in every second round",
            "warmup_rounds": plan.num_warmups, "planned_rounds": plan.num_rounds, "rounds": progress.num_rounds,
            "budget_s": plan.budget_s, "elapsed_s": round(elapsed_s, 1), "stopped_by": stopped_by,
        },
    )  # fmt: skip
    arms = []
    for arm in plan.arms:
        settings = _COMMON_SETTINGS | _way(arm) | arm.settings | {"engine": asdict(arm.engine)}
        runs = progress.runs[arm.id]
        arms.append(Arm(arm.id, arm.label, settings, runs, choose_exemplar(bare, runs)))
    return msgspec.structs.replace(bare, arms=arms)


def _way(arm: ArmPlan) -> dict[str, Any]:
    """Return how the arm's requests reach the server."""
    use = arm.make_run(FIRST_SEED).use
    kept = {"new": "new for each request", "reused": "opened before the run"}
    way: dict[str, Any] = {"connection": kept[use.connection]}
    if arm.edge.link_tls:
        way["tls_context"] = use.tls_context
    return way if arm.edge.is_direct else way | {"edge": asdict(arm.edge)}

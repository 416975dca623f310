"""Run recorded requests again: the same prompts must give the same tokens, cache hits and, alone, the same steps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from itertools import chain, zip_longest
from pathlib import Path

import msgspec

from demo_engine.console import say
from demo_engine.core.config import EngineConfig
from demo_engine.errors import MismatchError, UsageError
from demo_engine.experiments.context import make_context
from demo_engine.experiments.engines import Engines
from demo_engine.experiments.harness import FIRST_SEED
from demo_engine.experiments.plan import ArmPlan
from demo_engine.experiments.registry import select
from demo_engine.recorder.calibration import Calibration
from demo_engine.recorder.join import join_run
from demo_engine.weights import DEFAULT_MODEL, ModelFolder, open_model
from traces import Experiment, Run, TraceSet, load_set
from traces.arms import measured_runs

_COUNTS = ("num_prompt_tokens", "num_cached_tokens", "num_output_tokens", "finish_reason", "token_ids_sha256")
_STEP_COLUMNS = (
    "request_ids", "preempted_ids", "prefill_tokens", "cached_tokens", "decode_tokens", "running", "kv_blocks_used",
    "draft_tokens", "accepted_tokens",
)  # fmt: skip


@dataclass(frozen=True)
class _Recorded:
    """A recorded run, and how to make it again."""

    where: str
    arm: ArmPlan
    run: Run
    seed: int


def replay(folder: Path, num_requests: int, model: str | None) -> int:
    """Run at least this many recorded requests again and compare; returns the exit code.

    Runs are taken from all experiments in turn. What depends on timing (who shared a step with whom) is compared
    only where one request ran alone.

    Raises:
        UsageError: The set was recorded with another model, or by another version's plan.
        MismatchError: Something came out otherwise.
    """
    trace_set = load_set(folder)
    name = model or DEFAULT_MODEL
    weights = open_model(name)
    recorded = {file.file: file.sha256 for file in trace_set.header.model.files}
    if recorded != dict(weights.sha256):
        raise UsageError(f"{folder.name} was recorded with {trace_set.header.model.id}; give that model with --model")
    num_done, faults = 0, list[str]()
    with Engines(name, weights.id) as engines:
        for one in _in_turn(trace_set, weights):
            if num_done >= num_requests:
                break
            plan = one.arm.make_run(one.seed)
            again = join_run(plan, engines.run(one.arm, plan))
            found = list(_differences(one.run, again))
            faults += [f"{one.where}: {fault}" for fault in found]
            num_done += len(again.requests)
            say(f"{one.where}: {len(again.requests)} request(s), {'; '.join(found) or 'the same'}")
    if faults:
        raise MismatchError(f"{len(faults)} difference(s) in {num_done} requests, the first: {faults[0]}")
    say(f"{num_done} requests came out the same")
    return 0


def _in_turn(trace_set: TraceSet, weights: ModelFolder) -> Iterator[_Recorded]:
    """Yield the first run of each experiment, then the second of each, and so on."""
    each = [list(_recorded_runs(trace_set, experiment, weights)) for experiment in trace_set.experiments.values()]
    return (one for one in chain.from_iterable(zip_longest(*each)) if one is not None)


def _recorded_runs(trace_set: TraceSet, experiment: Experiment, weights: ModelFolder) -> Iterator[_Recorded]:
    (entry,) = select([experiment.id])
    engine = trace_set.header.engine
    calibration = msgspec.convert(engine["calibrations"][0], Calibration)
    context = make_context(weights, calibration, _config(engine), quick=bool(experiment.workload.get("quick")))
    planned = {arm.id: arm for arm in entry.plan(context).arms}
    for arm in experiment.arms:
        if arm.id not in planned:
            raise UsageError(f"{experiment.id}: arm {arm.id} is not planned by this version; record the set again")
        plan = replace(planned[arm.id], engine=_config(arm.settings["engine"]))
        for number, run in enumerate(measured_runs(arm)):
            where = f"{experiment.id} arm {arm.id} run {number + 1}"
            yield _Recorded(where, plan, run, FIRST_SEED + number)


def _config(settings: dict[str, object]) -> EngineConfig:
    known = {field.name for field in fields(EngineConfig)}
    return EngineConfig(**{name: value for name, value in settings.items() if name in known})  # type: ignore[arg-type]


def _differences(before: Run, again: Run) -> Iterator[str]:
    for old, new in zip(before.requests, again.requests, strict=True):
        if "error" in (old.finish_reason, new.finish_reason):
            continue  # whether a full queue refuses a request depends on timing
        for name in _COUNTS:
            if getattr(old, name) != getattr(new, name):
                yield f"{old.id} {name} was {getattr(old, name)}, is {getattr(new, name)}"
    if len(before.requests) == 1:
        for name in _STEP_COLUMNS:
            if getattr(before.steps, name) != getattr(again.steps, name):
                yield f"the steps' {name} differ"

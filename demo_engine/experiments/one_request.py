"""E23: one request from the client to the model and back, beside a neighbour and alone."""

from __future__ import annotations

from dataclasses import asdict

import msgspec

from demo_engine.client.records import Call, RunPlan
from demo_engine.core.config import EngineConfig
from demo_engine.experiments.processes import Client
from demo_engine.experiments.prompt import NEIGHBOUR, SUBJECT
from demo_engine.recorder.join import NEIGHBOUR_ID, SUBJECT_ID, join_run
from demo_engine.recorder.span_types import span_types
from traces import SCHEMA_VERSION, Experiment, Run, request_path
from traces.metrics import e2e_ns
from traces.schema import Arm, Exemplar, Prediction, SpanType

ID = "e23"
NAME = "one-request"
FILE = f"{ID}-{NAME}.json"
QUESTION = "Where does the time of one request go, from the client to the model and back?"
OUTPUT_TOKENS = 24
NEIGHBOUR_OUTPUT_TOKENS = OUTPUT_TOKENS + 8  # it decodes a little longer than the subject is there

_SUBJECT = Call(SUBJECT, OUTPUT_TOKENS)
PLANS = {
    "A": RunPlan(_SUBJECT, Call(NEIGHBOUR, NEIGHBOUR_OUTPUT_TOKENS)),
    "A-idle": RunPlan(_SUBJECT),
}
LABELS = {"A": "1 neighbour decoding", "A-idle": "idle engine"}
WAIT_SHARE = 1 - PLANS["A"].step_share
_PROMPTS = {SUBJECT_ID: SUBJECT, NEIGHBOUR_ID: NEIGHBOUR}


def measure(client: Client, arm_id: str) -> Run:
    """Carry out one run of an arm."""
    return join_run(client.run(PLANS[arm_id]), _PROMPTS)


def make_experiment(
    prediction: Prediction, runs: dict[str, list[Run]], num_warmups: int, config: EngineConfig
) -> Experiment:
    """Put the runs of all arms together.

    Args:
        prediction: What was predicted for arm A before the first run.
        runs: The runs of each arm.
        num_warmups: Unmeasured runs before them.
        config: Settings of the engine.
    """
    types = span_types(next(iter(runs.values()))[0].clock.bracket_ns)
    arms = [_arm(arm_id, arm_runs, types, prediction, num_warmups, config) for arm_id, arm_runs in runs.items()]
    return Experiment(SCHEMA_VERSION, ID, NAME, QUESTION, prediction, types, arms)


def subject_e2e_ns(run: Run, types: list[SpanType], prediction: Prediction) -> int:
    """Return the subject's end-to-end time."""
    experiment = Experiment(SCHEMA_VERSION, ID, NAME, QUESTION, prediction, types, [])
    subject = next(request for request in run.requests if request.role == "subject")
    return e2e_ns(request_path(experiment, run, subject))


def _arm(
    arm_id: str, runs: list[Run], types: list[SpanType], prediction: Prediction, num_warmups: int, config: EngineConfig
) -> Arm:
    order = sorted(range(len(runs)), key=lambda index: subject_e2e_ns(runs[index], types, prediction))
    exemplar = Exemplar(order[(len(runs) - 1) // 2], SUBJECT_ID, f"median E2E of n={len(runs)}")
    plan = PLANS[arm_id]
    settings = {
        "connection": "new for each request",
        "warmup_runs": num_warmups,
        "output_tokens": plan.subject.max_tokens,
        "ignore_eos": True,
        "temperature": 0,
        "neighbour": None if plan.neighbour is None else msgspec.to_builtins(plan.neighbour),
        "arrival": "alone"
        if plan.neighbour is None
        else f"{plan.step_share:.0%} into the step after the neighbour's token {plan.neighbour_tokens}",
        "engine": asdict(config),
    }
    return Arm(arm_id, LABELS[arm_id], settings, runs, exemplar)

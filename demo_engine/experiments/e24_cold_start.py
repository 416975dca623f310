"""E24: the first token from a server that has yet to start, and from one that runs."""

from __future__ import annotations

from demo_engine.client.records import Call, RunPlan
from demo_engine.experiments.context import Context
from demo_engine.experiments.plan import ArmPlan, ExperimentPlan
from demo_engine.experiments.prediction import ROOFLINE, predicted

ID = "e24"
NAME = "cold-start"
QUESTION = "How long does the first token from a new replica take?"
PROMPT_TOKENS, OUTPUT_TOKENS = 32, 4


def plan(context: Context) -> ExperimentPlan:
    """Ask for one short answer when the server's process is started (A), and from one that has served before (B)."""

    def make_run(seed: int) -> RunPlan:
        return RunPlan([Call("r1", context.words(PROMPT_TOKENS, f"{ID} {seed}"), OUTPUT_TOKENS, chat=False)])

    arms = [
        ArmPlan("A", "new process", context.engine(), make_run, {"process": "new"}, new_process=True),
        ArmPlan("B", "warm process", context.engine(), make_run, {"process": "kept"}),
    ]
    prefill_ns = context.step_ns([(0, PROMPT_TOKENS)])
    weight_bytes = context.step_cost([(0, PROMPT_TOKENS)]).weight_bytes
    by_arm_ns = {"A": weight_bytes / context.calibration.read_bytes_per_s * 1e9 + prefill_ns, "B": prefill_ns}
    prediction = predicted(
        "ttft",
        "new: weight_bytes / read_bytes_per_s to load, and a step of the prompt; warm: the step alone; no calibrated "
        f"speed tells how long interpreters and libraries take to start; {ROOFLINE}",
        context.calibrated | {"weight_bytes": weight_bytes, "prompt_tokens": PROMPT_TOKENS},
        by_arm_ns["A"],
        by_arm_ns,
    )
    num_rounds, budget_s = (1, 9) if context.quick else (7, 85)
    return ExperimentPlan(
        ID, NAME, QUESTION, arms, prediction, "alone",
        num_rounds=num_rounds, budget_s=budget_s, num_warmups=0 if context.quick else 1,
    )  # fmt: skip

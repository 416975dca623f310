"""E10: the same answer with keys and values kept, and with all of them computed again for every token."""

from __future__ import annotations

from demo_engine.client.records import Call, RunPlan
from demo_engine.experiments.context import Context
from demo_engine.experiments.plan import ArmPlan, ExperimentPlan
from demo_engine.experiments.prediction import ROOFLINE, predicted

ID = "e10"
NAME = "kv-cache"
QUESTION = "What does each further token cost without the KV cache?"
PROMPT_TOKENS = 8
"""Short, so that the text which is computed again grows by the answer and not by the prompt."""


def plan(context: Context) -> ExperimentPlan:
    """Ask for one answer, alone on an engine without a KV cache (A) and on one with it (B)."""
    num_outputs = 24 if context.quick else 64

    def make_run(seed: int) -> RunPlan:
        return RunPlan([Call("r1", context.words(PROMPT_TOKENS, f"{ID} {seed}"), num_outputs, chat=False)])

    arms = [
        ArmPlan("A", "without KV cache", context.engine(use_kv_cache=False), make_run, {"use_kv_cache": False}),
        ArmPlan("B", "with KV cache", context.engine(use_kv_cache=True), make_run, {"use_kv_cache": True}),
    ]
    num_known = PROMPT_TOKENS + num_outputs - 1
    by_arm_ns = {"A": context.step_ns([(0, num_known)]), "B": context.step_ns(decodes=[num_known - 1])}
    prediction = predicted(
        "last_token",
        f"A: a step of all tokens known by then; B: a step of the newest one; {ROOFLINE}",
        context.calibrated
        | {
            "prompt_tokens": PROMPT_TOKENS,
            "output_tokens": num_outputs,
            "kv_bytes_per_token": context.shape.kv_bytes_per_token,
        },
        by_arm_ns["A"],
        by_arm_ns,
    )
    num_rounds, budget_s = (2, 8) if context.quick else (7, 85)
    return ExperimentPlan(
        ID, NAME, QUESTION, arms, prediction, "alone",
        num_rounds=num_rounds, budget_s=budget_s,
    )  # fmt: skip

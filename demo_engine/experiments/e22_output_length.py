"""E22: a short answer and a long one to the same prompt."""

from __future__ import annotations

from collections.abc import Callable

from demo_engine.client.records import Call, RunPlan
from demo_engine.experiments.context import Context
from demo_engine.experiments.plan import ArmPlan, ExperimentPlan
from demo_engine.experiments.prediction import ROOFLINE, predicted

ID = "e22"
NAME = "output-length"
QUESTION = "What does a longer answer cost?"
PROMPT_TOKENS = 32


def plan(context: Context) -> ExperimentPlan:
    """Ask for a short answer (A) and for one four times as long (B), each alone on the same engine."""
    lengths = {"A": 8, "B": 32} if context.quick else {"A": 32, "B": 128}
    arms = [
        ArmPlan(
            name, f"{length} tokens of answer", context.engine(), _make_run(context, length), {"output_tokens": length}
        )
        for name, length in lengths.items()
    ]
    prefill_ns = context.step_ns([(0, PROMPT_TOKENS)])
    by_arm_ns = {
        name: prefill_ns + sum(context.step_ns(decodes=[PROMPT_TOKENS + made]) for made in range(1, length))
        for name, length in lengths.items()
    }
    prediction = predicted(
        "e2e",
        f"a step of the prompt and one for each further token; {ROOFLINE}",
        context.calibrated
        | {
            "prompt_tokens": PROMPT_TOKENS,
            "output_tokens_A": lengths["A"],
            "output_tokens_B": lengths["B"],
            "kv_bytes_per_token": context.shape.kv_bytes_per_token,
        },
        by_arm_ns["B"],
        by_arm_ns,
    )
    num_rounds, budget_s = (2, 8) if context.quick else (7, 75)
    return ExperimentPlan(
        ID, NAME, QUESTION, arms, prediction, "alone",
        num_rounds=num_rounds, budget_s=budget_s, num_warmups=0 if context.quick else 1,
    )  # fmt: skip


def _make_run(context: Context, num_outputs: int) -> Callable[[int], RunPlan]:
    def make_run(seed: int) -> RunPlan:
        return RunPlan([Call("r1", context.words(PROMPT_TOKENS, f"{ID} {seed}"), num_outputs, chat=False)])

    return make_run

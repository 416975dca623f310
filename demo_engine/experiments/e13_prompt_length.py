"""E13: prompts of growing length, each computed in one step; and the longest one's tokens as eight prompts."""

from __future__ import annotations

from collections.abc import Callable

from demo_engine.client.records import Call, RunPlan
from demo_engine.experiments.context import Context
from demo_engine.experiments.plan import ArmPlan, ExperimentPlan
from demo_engine.experiments.prediction import ROOFLINE, predicted

ID = "e13"
NAME = "prompt-length"
QUESTION = "How does the time for a prompt grow with its length?"
LENGTHS, QUICK_LENGTHS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048), (1, 8, 64, 256, 512)
NUM_PARTS = 8


def plan(context: Context) -> ExperimentPlan:
    """Send one prompt of each length to an idle engine, and eight at once that together are as long as the longest."""
    lengths = QUICK_LENGTHS if context.quick else LENGTHS
    longest, part = lengths[-1], lengths[-1] // NUM_PARTS
    engine = context.engine(max_num_batched_tokens=max(LENGTHS), max_num_seqs=NUM_PARTS)  # any of them fits into a step
    arms = [
        ArmPlan(f"n{length}", f"{length} tokens", engine, _make_run(context, 1, length), {"prompt_tokens": length})
        for length in lengths
    ]
    arms.append(
        ArmPlan(
            "parts", f"{NUM_PARTS} × {part} tokens", engine, _make_run(context, NUM_PARTS, part),
            {"part_tokens": part, "parts": NUM_PARTS},
        )
    )  # fmt: skip
    by_arm_ns = {f"n{length}": context.step_ns([(0, length)]) for length in lengths}
    by_arm_ns["parts"] = context.step_ns([(0, part)] * NUM_PARTS)
    prediction = predicted(
        "prefill",
        f"a step of the whole prompt; {ROOFLINE}",
        context.calibrated
        | {
            "weight_bytes": context.step_cost([(0, 1)]).weight_bytes,
            "flops_per_token": 2 * context.shape.num_layers * context.shape.num_layer_weights,
            "longest_prompt": longest,
        },
        by_arm_ns[f"n{longest}"],
        by_arm_ns,
    )
    num_rounds, budget_s = (1, 9) if context.quick else (5, 110)  # most of it for the longest prompt and its parts
    return ExperimentPlan(
        ID, NAME, QUESTION, arms, prediction, "alone; the parts all at once",
        num_rounds=num_rounds, budget_s=budget_s, num_warmups=0 if context.quick else 1,
    )  # fmt: skip


def _make_run(context: Context, num_prompts: int, length: int) -> Callable[[int], RunPlan]:
    def make_run(seed: int) -> RunPlan:
        return RunPlan(
            [
                Call(f"r{i + 1}", context.words(length, f"{ID} {num_prompts}x{length} {seed} {i}"), 1, chat=False)
                for i in range(num_prompts)
            ]
        )

    return make_run

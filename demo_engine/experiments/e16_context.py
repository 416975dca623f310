"""E16: one more token, after contexts of growing length."""

from __future__ import annotations

from collections.abc import Callable

from demo_engine.client.records import Call, RunPlan
from demo_engine.experiments.context import Context
from demo_engine.experiments.plan import ArmPlan, ExperimentPlan
from demo_engine.experiments.prediction import ROOFLINE, predicted

ID = "e16"
NAME = "context"
QUESTION = "How much does each token cost more after a longer context?"
LENGTHS, QUICK_LENGTHS = (256, 512, 1024, 2048, 4096), (256, 1024)
OUTPUT_TOKENS = 8


def plan(context: Context) -> ExperimentPlan:
    """Decode a few tokens alone, after contexts that are beginnings of one text and lie ready in the prefix cache."""
    lengths = QUICK_LENGTHS if context.quick else LENGTHS
    engine = context.engine(enable_prefix_caching=True)
    arms = [
        ArmPlan(
            f"c{length}", f"context of {length} tokens", engine,
            _make_run(context, length), {"context_tokens": length},
        )
        for length in lengths
    ]  # fmt: skip
    by_arm_ns = {f"c{length}": context.step_ns(decodes=[length + OUTPUT_TOKENS // 2]) for length in lengths}
    alone = context.step_cost(decodes=[lengths[0]])
    prediction = predicted(
        "decode_step",
        f"a step of one token that reads all before it; {ROOFLINE}",
        context.calibrated
        | {
            "weight_bytes": alone.weight_bytes,
            "kv_bytes_per_token": context.shape.kv_bytes_per_token,
            "output_tokens": OUTPUT_TOKENS,
        },
        by_arm_ns[f"c{lengths[-1]}"],
        by_arm_ns,
    )
    num_rounds, budget_s = (2, 9) if context.quick else (7, 75)
    # The uncounted run of each context computes what it is longer than the one before; all others find it ready.
    return ExperimentPlan(
        ID, NAME, QUESTION, arms, prediction, "alone", num_rounds=num_rounds, budget_s=budget_s, num_warmups=1,
    )  # fmt: skip


def _make_run(context: Context, length: int) -> Callable[[int], RunPlan]:
    num_new = context.base.block_size  # the last block of a prompt is always computed

    def make_run(seed: int) -> RunPlan:
        beginning = context.words(length - num_new, ID)  # the same in all runs, and of each length a part of the next
        ending = context.words(num_new, f"{ID} {length} {seed}")
        return RunPlan([Call("r1", f"{beginning} {ending}", OUTPUT_TOKENS, chat=False)])

    return make_run

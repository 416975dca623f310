"""E14: the same short chats, one alone and up to thirty-two at once."""

from __future__ import annotations

from collections.abc import Callable

from demo_engine.client.records import Call, RunPlan
from demo_engine.experiments.context import Context
from demo_engine.experiments.plan import ArmPlan, ExperimentPlan
from demo_engine.experiments.prediction import ROOFLINE, predicted

ID = "e14"
NAME = "batch-size"
QUESTION = "What does company cost each user, and what does it bring for all?"
SIZES, QUICK_SIZES = (1, 4, 8, 16, 32), (1, 4, 8, 16)
PROMPT_TOKENS, OUTPUT_TOKENS = 16, 5


def plan(context: Context) -> ExperimentPlan:
    """Ask so many at once; what counts is the steps in which all of them get a token and nobody is prefilled."""
    sizes = QUICK_SIZES if context.quick else SIZES
    engine = context.engine(max_num_seqs=max(SIZES))
    arms = [ArmPlan(f"b{size}", f"{size} at once", engine, _make_run(context, size), {"batch": size}) for size in sizes]
    num_known = PROMPT_TOKENS + OUTPUT_TOKENS // 2
    by_arm_ns = {f"b{size}": context.step_ns(decodes=[num_known] * size) for size in sizes}
    alone, pair = (context.step_cost(decodes=[num_known] * size) for size in (1, 2))
    prediction = predicted(
        "decode_step",
        f"a step of one token each; {ROOFLINE}",
        context.calibrated
        | {
            "weight_bytes": alone.weight_bytes,
            "flops_per_token": pair.flops - alone.flops,
            "kv_bytes_per_token": context.shape.kv_bytes_per_token,
            "prompt_tokens": PROMPT_TOKENS,
            "output_tokens": OUTPUT_TOKENS,
        },
        by_arm_ns[f"b{sizes[-1]}"],
        by_arm_ns,
    )
    num_rounds, budget_s = (1, 9) if context.quick else (4, 70)  # more rounds would make the file too large
    # The median of a run's steps is untouched by its first ones, so no run is left uncounted.
    return ExperimentPlan(
        ID, NAME, QUESTION, arms, prediction, "all at once",
        num_rounds=num_rounds, budget_s=budget_s, num_warmups=0,
    )  # fmt: skip


def _make_run(context: Context, size: int) -> Callable[[int], RunPlan]:
    def make_run(seed: int) -> RunPlan:
        # Who is there in a small batch is there in every larger one, with the same prompt.
        return RunPlan(
            [
                Call(f"r{i + 1}", context.words(PROMPT_TOKENS, f"{ID} {seed} {i}"), OUTPUT_TOKENS, chat=False)
                for i in range(size)
            ]
        )

    return make_run

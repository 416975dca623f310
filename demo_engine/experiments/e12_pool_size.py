"""E12: chats that together do not fit into the KV cache."""

from __future__ import annotations

from demo_engine.client.records import Call, RunPlan
from demo_engine.core.config import EngineConfig
from demo_engine.experiments.context import Context
from demo_engine.experiments.foresight import Arrival, foresee_ends_ns
from demo_engine.experiments.plan import ArmPlan, ExperimentPlan
from demo_engine.experiments.prediction import ROOFLINE, predicted

ID = "e12"
NAME = "pool-size"
QUESTION = "What happens to the chat that no longer fits into the KV cache?"
NUM_CHATS = 4
VICTIM = f"r{NUM_CHATS}"
"""Who comes last gives up its blocks first."""
EVERY_MS = 100.0
OUTPUT_TOKENS = 24


def plan(context: Context) -> ExperimentPlan:
    """Start four chats, one behind the other, with blocks for all of them (A) and for a little over three (B)."""
    prompt_tokens = 40 if context.quick else 88
    chat_blocks = -(-(prompt_tokens + OUTPUT_TOKENS) // context.base.block_size)
    large, small = NUM_CHATS * chat_blocks, (NUM_CHATS - 1) * chat_blocks + chat_blocks // 2

    def make_run(seed: int) -> RunPlan:
        return RunPlan(
            [
                Call(
                    arrival.id, context.words(prompt_tokens, f"{ID} {seed} {arrival.id}"), OUTPUT_TOKENS,
                    "subject" if arrival.id == VICTIM else "neighbour", arrival.at_ms, chat=False,
                )
                for arrival in arrivals
            ]
        )  # fmt: skip

    def arm(name: str, engine: EngineConfig) -> ArmPlan:
        blocks = engine.num_kv_blocks
        return ArmPlan(name, f"pool of {blocks} blocks", engine, make_run, {"num_kv_blocks": blocks})

    arrivals = [Arrival(f"r{i + 1}", prompt_tokens, OUTPUT_TOKENS, i * EVERY_MS) for i in range(NUM_CHATS)]
    arms = [arm("A", context.engine(num_kv_blocks=large)), arm("B", context.engine(num_kv_blocks=small))]
    by_arm_ns = {
        arm.id: foresee_ends_ns(context, arm.engine, arrivals)[VICTIM] - arrivals[-1].at_ms * 1e6 for arm in arms
    }
    prediction = predicted(
        "e2e",
        f"the last chat's steps and those it waits for, as the scheduler would plan them; {ROOFLINE}",
        context.calibrated
        | {
            "chats": NUM_CHATS,
            "every_ms": EVERY_MS,
            "prompt_tokens": prompt_tokens,
            "output_tokens": OUTPUT_TOKENS,
            "block_size": context.base.block_size,
            "large_pool_blocks": large,
            "small_pool_blocks": small,
            "kv_bytes_per_token": context.shape.kv_bytes_per_token,
        },
        by_arm_ns["B"],
        by_arm_ns,
    )
    num_rounds, budget_s = (2, 8) if context.quick else (7, 75)
    return ExperimentPlan(
        ID, NAME, QUESTION, arms, prediction, f"one every {EVERY_MS:.0f} ms",
        num_rounds=num_rounds, budget_s=budget_s, num_warmups=0 if context.quick else 1,
    )  # fmt: skip

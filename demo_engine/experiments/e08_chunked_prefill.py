"""E8: a long prompt arrives while others decode: computed in one step, and in chunks between their tokens."""

from __future__ import annotations

from collections.abc import Callable

from demo_engine.client.records import After, Call, RunPlan
from demo_engine.experiments.context import Context
from demo_engine.experiments.plan import ArmPlan, ExperimentPlan
from demo_engine.experiments.prediction import ROOFLINE, predicted

ID = "e08"
NAME = "chunked-prefill"
QUESTION = "How long do others wait for their next token while a long prompt is read, and who pays for less?"
NUM_NEIGHBOURS = 4
NEIGHBOUR_PROMPT_TOKENS, LONG_OUTPUT_TOKENS = 32, 2
LONG_PROMPT_TOKENS, QUICK_LONG_PROMPT_TOKENS = 576, 256
STEPS_A_CHUNK = 3
"""A step that holds a chunk should last about as long as this many steps without one."""
TOKENS_BEFORE, TOKENS_AFTER = 3, 4


def plan(context: Context) -> ExperimentPlan:
    """Let the neighbours decode; then a prompt arrives that is many times as long as theirs."""
    num_long = QUICK_LONG_PROMPT_TOKENS if context.quick else LONG_PROMPT_TOKENS
    chunk = chunk_tokens(context)
    make_run = _make_run(context, num_long, chunk)
    arms = [
        ArmPlan("A", "whole prompt in one step", context.engine(), make_run, {"chunk_tokens": num_long}),
        ArmPlan(
            "B", f"chunks of {chunk} tokens", context.engine(long_prefill_token_threshold=chunk), make_run,
            {"chunk_tokens": chunk},
        ),
    ]  # fmt: skip
    decodes = [NEIGHBOUR_PROMPT_TOKENS + TOKENS_BEFORE] * NUM_NEIGHBOURS
    by_arm_ns = {
        "A": context.step_ns([(0, num_long)], decodes),
        "B": context.step_ns([(num_long - chunk, chunk)], decodes),
    }
    prediction = predicted(
        "worst_gap",
        f"the longest step that holds a part of the long prompt; {ROOFLINE}",
        context.calibrated
        | {"neighbours": NUM_NEIGHBOURS, "long_prompt_tokens": num_long, "chunk_tokens": chunk}
        | {"kv_bytes_per_token": context.shape.kv_bytes_per_token},
        by_arm_ns["B"],
        by_arm_ns,
    )
    num_rounds, budget_s = (1, 9) if context.quick else (6, 90)
    return ExperimentPlan(
        ID, NAME, QUESTION, arms, prediction,
        f"{NUM_NEIGHBOURS} at once, and one more after the last one's token {TOKENS_BEFORE}",
        num_rounds=num_rounds, budget_s=budget_s, num_warmups=0 if context.quick else 1,
    )  # fmt: skip


def chunk_tokens(context: Context) -> int:
    """Return the largest chunk, in whole blocks, whose step lasts about as long as a few steps without one."""
    size = context.base.block_size
    decodes = [NEIGHBOUR_PROMPT_TOKENS] * NUM_NEIGHBOURS
    limit_ns = STEPS_A_CHUNK * context.step_ns(decodes=decodes)
    chunk = size
    while chunk < QUICK_LONG_PROMPT_TOKENS // 4 and context.step_ns([(0, chunk + size)], decodes) <= limit_ns:
        chunk += size
    return chunk


def _make_run(context: Context, num_long: int, chunk: int) -> Callable[[int], RunPlan]:
    # Every neighbour outlasts the long prompt, at one token a chunk, also those whose first token came earlier.
    num_tokens = TOKENS_BEFORE + -(-num_long // chunk) + TOKENS_AFTER

    def make_run(seed: int) -> RunPlan:
        neighbours = [
            Call(
                f"r{i + 1}", context.words(NEIGHBOUR_PROMPT_TOKENS, f"{ID} {seed} {i}"), num_tokens, "neighbour",
                chat=False,
            )
            for i in range(NUM_NEIGHBOURS)
        ]  # fmt: skip
        long = Call(
            "long", context.words(num_long, f"{ID} {seed} long"), LONG_OUTPUT_TOKENS, chat=False,
            after=After(neighbours[-1].id, TOKENS_BEFORE),
        )  # fmt: skip
        return RunPlan([*neighbours, long])

    return make_run

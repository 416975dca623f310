"""E7: twelve chats for four seats: a batch that waits for its last member, and one that fills every empty seat."""

from __future__ import annotations

import random
from collections.abc import Callable

from demo_engine.client.records import Call, RunPlan
from demo_engine.experiments.context import Context
from demo_engine.experiments.foresight import Arrival, foresee_ends_ns
from demo_engine.experiments.plan import ArmPlan, ExperimentPlan
from demo_engine.experiments.prediction import ROOFLINE, predicted

ID = "e07"
NAME = "batching"
QUESTION = "How much time do empty seats in a batch cost?"
NUM_CHATS, NUM_SEATS = 12, 4
PROMPT_TOKENS = 24
SHORTEST, LONGEST, QUICK_LONGEST = 3, 29, 20


def plan(context: Context) -> ExperimentPlan:
    """Send all chats at once, with answers of very different lengths."""
    engine = context.engine(max_num_seqs=NUM_SEATS)
    make_run = _make_run(context)
    arms = [
        ArmPlan("A", "static batches", context.engine(max_num_seqs=NUM_SEATS, batching="static"), make_run),
        ArmPlan("B", "continuous batching", engine, make_run),
    ]
    lengths = _lengths(context, 1)
    arrivals = [Arrival(f"r{i}", PROMPT_TOKENS, length, 0.0) for i, length in enumerate(lengths)]
    by_arm_ns = {arm.id: max(foresee_ends_ns(context, arm.engine, arrivals).values()) for arm in arms}
    prediction = predicted(
        "makespan",
        f"the scheduler's own steps for answers of the first run's lengths, each as long as {ROOFLINE}",
        context.calibrated
        | {"chats": NUM_CHATS, "seats": NUM_SEATS, "prompt_tokens": PROMPT_TOKENS, "output_tokens": sum(lengths)},
        by_arm_ns["B"],
        by_arm_ns,
    )
    num_rounds, budget_s = (1, 9) if context.quick else (4, 80)  # more rounds would make the file too large
    return ExperimentPlan(
        ID, NAME, QUESTION, arms, prediction, "all at once",
        num_rounds=num_rounds, budget_s=budget_s, num_warmups=0,
    )  # fmt: skip


def _make_run(context: Context) -> Callable[[int], RunPlan]:
    def make_run(seed: int) -> RunPlan:
        lengths = _lengths(context, seed)
        return RunPlan(
            [
                Call(f"r{i + 1}", context.words(PROMPT_TOKENS, f"{ID} {seed} {i}"), lengths[i], chat=False)
                for i in range(NUM_CHATS)
            ]
        )

    return make_run


def _lengths(context: Context, seed: int) -> list[int]:
    """Return the lengths of the answers: spread evenly from the shortest to the longest, in a seeded order."""
    longest = QUICK_LONGEST if context.quick else LONGEST
    lengths = [SHORTEST + (longest - SHORTEST) * i // (NUM_CHATS - 1) for i in range(NUM_CHATS)]
    random.Random(f"{ID} {seed}").shuffle(lengths)  # noqa: S311 (a load, not a secret)
    return lengths

"""E11: a prompt whose beginning was seen before, with and without the prefix cache."""

from __future__ import annotations

from collections.abc import Callable

from demo_engine.client.records import After, Call, RunPlan
from demo_engine.experiments.context import Context
from demo_engine.experiments.plan import ArmPlan, ExperimentPlan
from demo_engine.experiments.prediction import ROOFLINE, predicted

ID = "e11"
NAME = "prefix-hit"
QUESTION = "What does a prompt cost whose beginning was seen before?"
LENGTHS, QUICK_LENGTHS = (128, 512, 2048), (128, 512)
FILL_TOKENS = 2


def plan(context: Context) -> ExperimentPlan:
    """Send two prompts that begin alike, one after the other: to an engine that forgets, and to one that keeps."""
    lengths = QUICK_LENGTHS if context.quick else LENGTHS
    num_new = context.base.block_size  # the last block of a prompt is always computed
    engines = {kind: context.engine(enable_prefix_caching=kind == "hit") for kind in ("miss", "hit")}
    arms = [
        ArmPlan(
            f"{kind}{length}", f"{length} tokens, {kind}", engines[kind],
            _make_run(context, length, num_new), {"prompt_tokens": length, "prefix_caching": kind == "hit"},
        )
        for length in lengths
        for kind in ("miss", "hit")
    ]  # fmt: skip
    by_arm_ns = {f"miss{length}": context.step_ns([(0, length)]) for length in lengths}
    by_arm_ns |= {f"hit{length}": context.step_ns([(length - num_new, num_new)]) for length in lengths}
    prediction = predicted(
        "ttft",
        f"miss: a step of the whole prompt; hit: a step of its last block, reading the rest; {ROOFLINE}",
        context.calibrated
        | {
            "new_tokens": num_new,
            "longest_prompt": lengths[-1],
            "kv_bytes_per_token": context.shape.kv_bytes_per_token,
        },
        by_arm_ns[f"hit{lengths[-1]}"],
        by_arm_ns,
    )
    num_rounds, budget_s = (1, 9) if context.quick else (5, 110)  # two thirds of it are the longest prompts
    # The first request of each run warms its shapes up, so no run is left uncounted.
    return ExperimentPlan(
        ID, NAME, QUESTION, arms, prediction, "the second when the first is over",
        num_rounds=num_rounds, budget_s=budget_s, num_warmups=0,
    )  # fmt: skip


def _make_run(context: Context, length: int, num_new: int) -> Callable[[int], RunPlan]:
    def make_run(seed: int) -> RunPlan:
        # Beginnings differ from seed to seed and from length to length: no run finds what another has left.
        name = f"{ID} {length} {seed}"
        beginning = context.words(length - num_new, name)
        prompts = [f"{beginning} {context.words(num_new, f'{name} {who}')}" for who in ("fill", "subject")]
        return RunPlan(
            [
                Call("fill", prompts[0], FILL_TOKENS, "neighbour", chat=False),
                Call(
                    "subject", prompts[1], 4 if context.quick else 8,
                    after=After("fill", FILL_TOKENS), chat=False,
                ),
            ]
        )  # fmt: skip

    return make_run

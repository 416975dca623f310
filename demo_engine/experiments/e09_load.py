"""E9: the same small requests, arriving more and more often, and once with a limit on how many may wait."""

from __future__ import annotations

import random
from collections.abc import Callable

from demo_engine.client.records import Call, RunPlan
from demo_engine.experiments.context import Context
from demo_engine.experiments.foresight import Arrival, foresee_ends_ns
from demo_engine.experiments.harness import WARMUP_SEED
from demo_engine.experiments.plan import ArmPlan, ExperimentPlan
from demo_engine.experiments.prediction import ROOFLINE, predicted

ID = "e09"
NAME = "load"
QUESTION = "What happens to the first token when requests come almost as fast as they can be served?"
SHARES, QUICK_SHARES = (0.35, 0.55, 0.75), (0.35, 0.75)
"""Offered rates, as parts of the rate that the roofline would allow. Real steps take up to twice as long as the
roofline says, so the last one is near or over what can be served; how busy the engine really was is measured."""
NUM_SEATS, SEATS_IN_LINE = 4, 2
PROMPT_TOKENS, OUTPUT_TOKENS = 48, 5
NUM_REQUESTS, NUM_QUICK_REQUESTS, NUM_WARMUP_REQUESTS = 44, 12, 2
_FORESEEN_REQUESTS = 24


def plan(context: Context) -> ExperimentPlan:
    """Send requests at random times that do not depend on the replies."""
    engine = context.engine(max_num_seqs=NUM_SEATS)
    service_ns = _service_ns(context)
    arms = []
    for share in QUICK_SHARES if context.quick else SHARES:
        rate_per_s = share / service_ns * 1e9
        settings = {"offered_per_s": round(rate_per_s, 3), "share_of_predicted_capacity": share}
        make_run = _make_run(context, rate_per_s)
        name, label = f"load{share * 100:.0f}", f"{rate_per_s:.1f} requests a second"
        arms.append(ArmPlan(name, label, engine, make_run, settings))
    limited = arms[-1]
    arms.append(
        ArmPlan(
            f"{limited.id}-cap", f"{limited.label}, at most {SEATS_IN_LINE} waiting", engine, limited.make_run,
            {**limited.settings, "max_num_queued": SEATS_IN_LINE}, max_num_queued=SEATS_IN_LINE,
        )
    )  # fmt: skip
    by_arm_ns = {arm.id: service_ns / (1 - arm.settings["share_of_predicted_capacity"]) for arm in arms[:-1]}
    prediction = predicted(
        "ttft",
        "service / (1 − share), one server that everybody waits for in turn (M/M/1); service = time a request of the "
        f"scheduler's own steps for {_FORESEEN_REQUESTS} requests at once, each as long as {ROOFLINE}",
        context.calibrated
        | {"service_ns": round(service_ns), "seats": NUM_SEATS}
        | {"prompt_tokens": PROMPT_TOKENS, "output_tokens": OUTPUT_TOKENS},
        by_arm_ns[limited.id],
        by_arm_ns,
    )
    return ExperimentPlan(
        ID, NAME, QUESTION, arms, prediction, "Poisson, the same for every rate but for its scale",
        num_rounds=1, budget_s=9 if context.quick else 100,
    )  # fmt: skip


def _service_ns(context: Context) -> float:
    """Predict how long the engine works for one request while its seats are taken."""
    engine = context.engine(max_num_seqs=NUM_SEATS)
    arrivals = [Arrival(f"r{i}", PROMPT_TOKENS, OUTPUT_TOKENS, 0.0) for i in range(_FORESEEN_REQUESTS)]
    return max(foresee_ends_ns(context, engine, arrivals).values()) / len(arrivals)


def _make_run(context: Context, rate_per_s: float) -> Callable[[int], RunPlan]:
    num_requests = NUM_QUICK_REQUESTS if context.quick else NUM_REQUESTS

    def make_run(seed: int) -> RunPlan:
        draws = random.Random(f"{ID} {seed}")  # noqa: S311 (a load, not a secret)
        calls, at_ms = [], 0.0
        for i in range(NUM_WARMUP_REQUESTS if seed >= WARMUP_SEED else num_requests):
            prompt = context.words(PROMPT_TOKENS, f"{ID} {seed} {i}")
            calls.append(Call(f"r{i + 1}", prompt, OUTPUT_TOKENS, at_ms=at_ms, chat=False))
            at_ms += draws.expovariate(rate_per_s) * 1e3
        return RunPlan(calls)

    return make_run

"""E4: one line of a prompt template that changes with every request, in front and at the end."""

from __future__ import annotations

from functools import partial
from typing import Literal

from demo_engine.client.records import After, Call, RunPlan
from demo_engine.experiments.context import Context
from demo_engine.experiments.plan import ArmPlan, ExperimentPlan
from demo_engine.experiments.prediction import ROOFLINE, predicted

ID = "e04"
NAME = "template"
QUESTION = "What does it cost to put the time of day at the top of a prompt template?"
FILL_TOKENS, OUTPUT_TOKENS = 2, 8
_Place = Literal["first", "last"]

_GUIDE = """\
Guide {seed:07d} for the assistant of a web shop.
You answer customers of a small shop that sells lamps, tables and chairs. Be brief, polite and exact. Say at once \
what you know, and say just as plainly what you do not know. Never invent a price, a date or a promise.
Orders: an order is confirmed by mail within an hour. It can be changed until it is packed, and it is packed on the \
morning of the next working day. After that it can only be sent back.
Delivery: lamps come by parcel in two to four days. Tables and chairs come with a carrier, who calls the day before. \
Nobody has to be at home for a parcel; for furniture somebody must be there to sign. Islands take three days longer.
Returns: everything can be sent back within thirty days, in any packaging that protects it. The shop pays for the way \
back if the fault is its own, otherwise the customer does. The money returns the way it came, within a week.
Repairs: bulbs, switches and cables are sold as spare parts. A broken glass shade is replaced once without charge.
Tone: write as to a neighbour. No exclamation marks, no capitals for emphasis, no apologies for things that nobody \
could have changed. If a customer is angry, repeat the problem in your own words first, then say what happens next.
If a question is not about the shop, say so, and offer to help with an order.
"""
_QUESTIONS = ("Where is my lamp?", "Can I send back one chair of four?", "My glass shade is broken. What now?")


def plan(context: Context) -> ExperimentPlan:
    """Ask questions one after the other through a template, to an engine that keeps the beginnings of prompts."""
    num_questions = 2 if context.quick else 3
    places: dict[str, _Place] = {"A": "first", "B": "last"}
    engine = context.engine(enable_prefix_caching=True)
    arms = [
        ArmPlan(
            name, f"timestamp {place}", engine,
            partial(_make_run, place, num_questions), {"timestamp": place},
        )
        for name, place in places.items()
    ]  # fmt: skip
    sizes = {name: _sizes(context, place) for name, place in places.items()}
    by_arm_ns = {
        name: context.step_ns([(num_shared, num_tokens - num_shared)])
        for name, (num_tokens, num_shared) in sizes.items()
    }
    prediction = predicted(
        "ttft",
        f"a step of the tokens behind the last full block that two prompts share; {ROOFLINE}",
        context.calibrated
        | {"prompt_tokens": sizes["A"][0], "shared_tokens_A": sizes["A"][1], "shared_tokens_B": sizes["B"][1]}
        | {"kv_bytes_per_token": context.shape.kv_bytes_per_token},
        by_arm_ns["B"],
        by_arm_ns,
    )
    num_rounds, budget_s = (2, 8) if context.quick else (7, 60)
    return ExperimentPlan(
        ID, NAME, QUESTION, arms, prediction, "each when the one before is over",
        num_rounds=num_rounds, budget_s=budget_s, num_warmups=0 if context.quick else 1,
    )  # fmt: skip


def _make_run(place: _Place, num_questions: int, seed: int) -> RunPlan:
    """Ask a first question, which fills the cache, and others that may find what it left."""
    calls = [Call("fill", _prompt(place, seed, 0), FILL_TOKENS, "neighbour", chat=False)]
    for number in range(1, num_questions):
        after = After(calls[-1].id, calls[-1].max_tokens)
        prompt = _prompt(place, seed, number)
        calls.append(Call(f"q{number}", prompt, OUTPUT_TOKENS, after=after, chat=False, keep_text=True))
    return RunPlan(calls)


def _prompt(place: _Place, seed: int, number: int) -> str:
    """Return a prompt; the time differs in every call, the guide's number in every run, so that runs share nothing."""
    stamp = f"Now: {8 + seed // 60 % 12:02d}:{seed % 60:02d}:{number:02d}\n"
    guide = _GUIDE.format(seed=seed)
    template = stamp + guide if place == "first" else guide + stamp
    return f"{template}Question: {_QUESTIONS[number]}\nAnswer:"


def _sizes(context: Context, place: _Place) -> tuple[int, int]:
    """Return how many tokens a second prompt has, and how many of them the first left in full blocks."""
    first, second = (context.tokenizer.encode(_prompt(place, 1, number)) for number in (0, 1))
    num_alike = next(i for i, (a, b) in enumerate(zip(first, second, strict=False)) if a != b)
    return len(second), num_alike // context.base.block_size * context.base.block_size

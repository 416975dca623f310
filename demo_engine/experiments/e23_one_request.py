"""E23: one request from the client to the model and back, beside a neighbour and alone."""

from __future__ import annotations

from demo_engine.client.records import After, Call, RunPlan
from demo_engine.experiments.context import Context
from demo_engine.experiments.plan import ArmPlan, ExperimentPlan
from demo_engine.experiments.prediction import ROOFLINE, predicted
from demo_engine.experiments.prompt import NEIGHBOUR, SUBJECT

ID = "e23"
NAME = "one-request"
QUESTION = "Where does the time of one request go, from the client to the model and back?"
SUBJECT_ID, NEIGHBOUR_ID = "r7", "r1"
OUTPUT_TOKENS = 24
NEIGHBOUR_OUTPUT_TOKENS = OUTPUT_TOKENS + 8  # it decodes a little longer than the subject is there
MEETING = After(NEIGHBOUR_ID, tokens=3, step_share=0.35)


def plan(context: Context) -> ExperimentPlan:
    """Send the talk's request into a step of a neighbour's (A), and to an engine that has nothing to do (A-idle)."""
    neighbour = Call(NEIGHBOUR_ID, NEIGHBOUR, NEIGHBOUR_OUTPUT_TOKENS, "neighbour", keep_text=True)
    beside = RunPlan([Call(SUBJECT_ID, SUBJECT, OUTPUT_TOKENS, after=MEETING, keep_text=True), neighbour])
    alone = RunPlan([Call(SUBJECT_ID, SUBJECT, OUTPUT_TOKENS, keep_text=True)])
    meeting = f"{MEETING.step_share:.0%} into the step after the neighbour's token {MEETING.tokens}"
    arms = [
        # The talk shows this one request, so that all runs send the same text.
        ArmPlan("A", "1 neighbour decoding", context.engine(), lambda _: beside, {"arrival": meeting}),
        ArmPlan("A-idle", "idle engine", context.engine(), lambda _: alone, {"arrival": "alone"}),
    ]
    num_prompt, num_other = context.num_chat_tokens(SUBJECT), context.num_chat_tokens(NEIGHBOUR) + MEETING.tokens
    by_arm_ns = {
        "A": (1 - MEETING.step_share) * context.step_ns(decodes=[num_other])
        + context.step_ns([(0, num_prompt)], decodes=[num_other + 1])
        + sum(context.step_ns(decodes=[num_prompt + made, num_other + 1 + made]) for made in range(1, OUTPUT_TOKENS)),
        "A-idle": context.step_ns([(0, num_prompt)])
        + sum(context.step_ns(decodes=[num_prompt + made]) for made in range(1, OUTPUT_TOKENS)),
    }
    prediction = predicted(
        "e2e",
        "wait_share of the neighbour's step, a step of the prompt, and one for each further token, the neighbour's "
        f"tokens in all of them; {ROOFLINE}",
        context.calibrated
        | {
            "prompt_tokens": num_prompt,
            "output_tokens": OUTPUT_TOKENS,
            "neighbour_tokens": num_other,
            "wait_share": 1 - MEETING.step_share,
            "kv_bytes_per_token": context.shape.kv_bytes_per_token,
        },
        by_arm_ns["A"],
        by_arm_ns,
    )
    num_rounds, budget_s = (3, 18) if context.quick else (7, 60)
    return ExperimentPlan(
        ID, NAME, QUESTION, arms, prediction, "one request, beside a neighbour or alone",
        num_rounds=num_rounds, budget_s=budget_s, num_warmups=1 if context.quick else 2,
    )  # fmt: skip

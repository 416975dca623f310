"""Hand-made records of both sides of a request, with known times. Nothing here is a measurement."""

from __future__ import annotations

from demo_engine.client.records import Call, CallRecord, CallResult, RunPlan, RunResult
from demo_engine.core.step_log import COLUMNS
from demo_engine.recorder.server_trace import ServerSteps, ServerTokens, ServerTrace, StageClock

US = 1_000
MS = 1_000_000
ZERO = 5_000_000_000


def make_call(*, request_id="chatcmpl-1", start=ZERO, first_step=3, lost_step=None) -> CallResult:
    """Return a request of two tokens whose stages take known times: step ``first_step`` runs as it arrives."""
    marks = [("receive", 100), ("template", 20), ("encode", 300), ("route", 10), ("submit", 70)]
    now = start + 500 * US
    clock = StageClock(lambda: start + 500 * US)
    for name, duration_us in marks:
        now += duration_us * US
        clock.mark(name, now)
    arrival, first, second = now, start + 20 * MS, start + 31 * MS
    clock.mark("engine", second + 9 * MS)
    for name, end in (("deliver", 9100), ("detokenize", 9150), ("write", 9200)):
        clock.mark(name, second + end * US)
    rows = {first_step: arrival - 5 * MS, first_step + 1: first, first_step + 2: second}
    rows.pop(lost_step, None)
    columns = {name: [1] * len(rows) for name in COLUMNS}
    columns |= {"start_ns": list(rows.values()), "plan_ns": [100 * US] * len(rows), "emit_ns": [200 * US] * len(rows)}
    columns |= {"forward_ns": [8 * MS] * len(rows), "sample_ns": [300 * US] * len(rows)}
    steps = ServerSteps(first_step, columns, [["other"], *[[request_id]] * (len(rows) - 1)], [[]] * len(rows), 64)
    tokens = ServerTokens(
        [11, 12], ["a", "b"], [first_step + 1, first_step + 2], [first + 8 * MS, second + 8 * MS],
        [first + 9 * MS, second + 9150 * US], [first + 9 * MS, second + 9200 * US], [1, 2],
    )  # fmt: skip
    server = ServerTrace(request_id, "perf_counter_ns", 40_000, 7, "length", clock.spans, tokens, steps)
    events = [start + 600 * US, first + 10 * MS, second + 10 * MS]
    client = CallRecord(start, start + 50 * US, start + 200 * US, second + 11 * MS, events, request_id)
    return CallResult(client, server)


def make_result(**changes) -> RunResult:
    """Return a run of one request."""
    return RunResult(1, ZERO - 10 * MS, 2, ZERO + 60 * MS, [make_call(**changes)])


def make_plan(*ids: str, keep_text: bool = False) -> RunPlan:
    """Return the plan of a run with these requests, the first one its subject."""
    roles = ["subject", *["neighbour"] * (len(ids) - 1)]
    calls = [
        Call(name, f"prompt of {name}", 2, role, keep_text=keep_text) for name, role in zip(ids, roles, strict=True)
    ]
    return RunPlan(calls)

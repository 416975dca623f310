"""Both sides of a run as one trace: spans that touch, steps numbered from 0, times from the run's zero."""

from __future__ import annotations

import hashlib
from itertools import pairwise
from typing import Literal

from demo_engine.client.records import CallResult, RunResult
from demo_engine.errors import EngineError
from demo_engine.recorder.server_trace import ServerSteps
from demo_engine.recorder.span_types import span_types
from traces.schema import ClockBlock, Request, Run, SpanRow, Steps, Tokens
from traces.storage import canonical_json

SUBJECT_ID = "r7"
NEIGHBOUR_ID = "r1"
_TYPE_INDEX = {span_type.name: index for index, span_type in enumerate(span_types(0))}


def join_run(result: RunResult, prompts: dict[str, str]) -> Run:
    """Join what the client and the server wrote down in one run.

    Args:
        result: Both sides of every request.
        prompts: Text of each request's prompt, by its id in the trace.

    Raises:
        EngineError: An event was stamped before the one that caused it.
    """
    calls: list[tuple[str, Literal["subject", "neighbour"], CallResult]] = [(SUBJECT_ID, "subject", result.subject)]
    if result.neighbour is not None:
        calls.append((NEIGHBOUR_ID, "neighbour", result.neighbour))
    names = {call.server.request_id: request_id for request_id, _, call in calls}
    first_step, steps = _join_steps([call.server.steps for _, _, call in calls], names, result.start_perf_ns)
    requests = [
        _join_request(request_id, role, call, first_step, result.start_perf_ns, prompts[request_id])
        for request_id, role, call in calls
    ]
    bracket_ns = result.subject.server.bracket_ns
    zero_ns = result.start_perf_ns
    clock = ClockBlock(result.start_wall_ns, 0, result.end_wall_ns, result.end_perf_ns - zero_ns, bracket_ns)
    return Run(clock, requests, steps)


def _join_request(
    request_id: str, role: Literal["subject", "neighbour"], call: CallResult, first_step: int, zero_ns: int, prompt: str
) -> Request:
    client, server = call.client, call.server
    start_ns = client.intended_start_ns
    events = [server.tokens.event[index] for index in range(len(server.tokens.id))]
    received_ns = [start_ns, *(client.event_ns[event] for event in events)]
    tokens = Tokens(
        step=[step - first_step for step in server.tokens.step],
        sample_ns=[at - start_ns for at in server.tokens.sample_ns],
        detok_ns=[at - start_ns for at in server.tokens.detok_ns],
        write_ns=[at - start_ns for at in server.tokens.write_ns],
        recv_gap_ns=[later - earlier for earlier, later in pairwise(received_ns)],
    )
    return Request(
        id=request_id, role=role, phase="measure", intended_start_ns=start_ns - zero_ns,
        num_prompt_tokens=server.num_prompt_tokens, num_cached_tokens=server.num_cached_tokens,
        num_output_tokens=len(server.tokens.id),
        finish_reason=server.finish_reason, spans=_join_spans(call), tokens=tokens,
        token_ids_sha256=hashlib.sha256(canonical_json(server.tokens.id)).hexdigest(),
        prompt_text=prompt, token_texts=server.tokens.text,
    )  # fmt: skip


def _join_spans(call: CallResult) -> list[SpanRow]:
    """Return the path's spans: the client's, the server's, and the network between them."""
    client, server = call.client, call.server
    served_ns = server.spans[-1].start_ns + server.spans[-1].duration_ns
    ends = [("prepare", client.connect_start_ns), ("connect", client.connected_ns)]
    ends.append(("request", server.spans[0].start_ns))
    ends += [(span.name, span.start_ns + span.duration_ns) for span in server.spans]
    ends.append(("response", client.end_ns))
    rows, cursor_ns = [], client.intended_start_ns
    for name, end_ns in ends:
        if end_ns < cursor_ns:
            raise EngineError(f"{server.request_id}: {name} ends {cursor_ns - end_ns} ns before it begins")
        rows.append(SpanRow(_TYPE_INDEX[name], -1, cursor_ns - client.intended_start_ns, end_ns - cursor_ns))
        cursor_ns = end_ns
    if served_ns > client.end_ns:
        raise EngineError(f"{server.request_id}: the server wrote after the client had read everything")
    return rows


def _join_steps(parts: list[ServerSteps], names: dict[str, str], zero_ns: int) -> tuple[int, Steps]:
    """Lay the parts over one another; return the first step's number and all steps.

    Raises:
        EngineError: The parts leave a hole, or the server no longer had them.
    """
    rows: dict[int, tuple[ServerSteps, int]] = {}
    for part in parts:
        rows |= {part.first + offset: (part, offset) for offset in range(len(part.request_ids))}
    numbers = sorted(rows)
    if not numbers or numbers != list(range(numbers[0], numbers[-1] + 1)):
        raise EngineError("the server's record of steps has a hole; make the run shorter")

    def column(name: str) -> list[int]:
        return [part.columns[name][offset] for part, offset in rows.values()]

    rows = {number: rows[number] for number in numbers}
    return numbers[0], Steps(
        start_ns=[at - zero_ns for at in column("start_ns")],
        **{name: column(name) for name in parts[0].columns if name != "start_ns"},
        request_ids=[[names.get(i, i) for i in part.request_ids[offset]] for part, offset in rows.values()],
        preempted_ids=[[names.get(i, i) for i in part.preempted_ids[offset]] for part, offset in rows.values()],
        kv_blocks_total=parts[0].kv_blocks_total,
    )

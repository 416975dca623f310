"""Both sides of a run as one trace: spans that touch, steps numbered from 0, times from the run's zero."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Literal

from demo_engine.client.records import Call, CallResult, RunPlan, RunResult
from demo_engine.errors import EngineError
from demo_engine.network.config import EdgeConfig
from demo_engine.recorder.server_trace import ServerSteps
from demo_engine.recorder.span_types import span_types
from demo_engine.recorder.stages import StageEnd, failed_stage_ends, stage_ends
from traces.schema import ClockBlock, Request, Run, SpanRow, Steps, Tokens
from traces.storage import canonical_json

Phase = Literal["warmup", "measure"]
_SPARSE = frozenset({"mask_ns", "draft_tokens", "accepted_tokens"})
"""Columns of steps that are left out where they hold nothing but zeros."""
_TYPE_INDEX = {span_type.name: index for index, span_type in enumerate(span_types(0))}


def join_run(plan: RunPlan, result: RunResult, phase: Phase = "measure") -> Run:
    """Join what the client and the server wrote down in one run.

    Args:
        plan: What was asked.
        result: Both sides of every request, in the plan's order.
        phase: Whether the run counts.

    Raises:
        EngineError: An event was stamped before the one that caused it, or no request was completed.
    """
    zero_ns = result.start_perf_ns
    pairs = list(zip(plan.calls, result.calls, strict=True))
    servers = {call.id: done.server for call, done in pairs if done.server is not None}
    if not servers:
        raise EngineError(f"no request was completed: {result.calls[0].failure}")
    names = {server.request_id: call_id for call_id, server in servers.items()}
    first_steps, steps = [], []
    for replica in range(1 + max(server.replica for server in servers.values())):
        parts = [server.steps for server in servers.values() if server.replica == replica and server.tokens.id]
        first_step, joined = _join_steps(parts, names, zero_ns)
        first_steps.append(first_step)
        steps.append(joined)
    requests = [_join_request(call, done, result.edge, first_steps, zero_ns, phase) for call, done in pairs]
    bracket_ns = max(server.bracket_ns for server in servers.values())
    clock = ClockBlock(
        result.start_wall_ns, 0, result.end_wall_ns, result.end_perf_ns - zero_ns, bracket_ns,
        bracket_ns if result.bracket_ns is None else result.bracket_ns,
    )  # fmt: skip
    return Run(clock, requests, steps[0], more_steps=steps[1:])


def _join_request(
    call: Call, done: CallResult, edge: EdgeConfig, first_steps: list[int], zero_ns: int, phase: Phase
) -> Request:
    client, server = done.client, done.server
    start_ns = client.intended_start_ns
    if server is None:
        ends = failed_stage_ends(client, done.failure or "unknown")
        return Request(
            id=call.id, role=call.role, phase=phase, intended_start_ns=start_ns - zero_ns, num_prompt_tokens=0,
            num_cached_tokens=0, num_output_tokens=0, finish_reason="error",
            spans=list(_touching(ends, min(start_ns, client.end_ns), call.id)),
            tokens=Tokens(),
        )  # fmt: skip
    received_ns = [start_ns, *(client.event_ns[event] for event in server.tokens.event)]
    tokens = Tokens(
        step=[step - first_steps[server.replica] for step in server.tokens.step],
        sample_ns=[at - start_ns for at in server.tokens.sample_ns],
        detok_ns=[at - start_ns for at in server.tokens.detok_ns],
        write_ns=[at - start_ns for at in server.tokens.write_ns],
        recv_gap_ns=[later - earlier for earlier, later in pairwise(received_ns)],
        proxy_ns=[] if server.proxy is None else [server.proxy.event_ns[i] - start_ns for i in server.tokens.event],
    )
    spans = list(_touching(stage_ends(client, server, edge), start_ns, server.request_id))
    return Request(
        id=call.id, role=call.role, phase=phase, intended_start_ns=start_ns - zero_ns,
        num_prompt_tokens=server.num_prompt_tokens, num_cached_tokens=server.num_cached_tokens,
        num_output_tokens=len(server.tokens.id),
        finish_reason=server.finish_reason, spans=spans, tokens=tokens,
        token_ids_sha256=hashlib.sha256(canonical_json(server.tokens.id)).hexdigest(),
        prompt_text=call.prompt if call.keep_text else None,
        token_texts=server.tokens.text if call.keep_text else None, replica=server.replica,
    )  # fmt: skip


def _touching(ends: Iterable[StageEnd], start_ns: int, request_id: str) -> Iterator[SpanRow]:
    """Yield spans that begin where the one before ended.

    Raises:
        EngineError: One would end before it begins.
    """
    cursor_ns = start_ns
    for end in ends:
        if end.at_ns < cursor_ns:
            raise EngineError(f"{request_id}: {end.name} ends {cursor_ns - end.at_ns} ns before it begins")
        yield SpanRow(_TYPE_INDEX[end.name], -1, cursor_ns - start_ns, end.at_ns - cursor_ns, end.attributes)
        cursor_ns = end.at_ns


def _join_steps(parts: list[ServerSteps], names: dict[str, str], zero_ns: int) -> tuple[int, Steps]:
    """Lay one replica's parts over one another; return the first step's number and all steps.

    Raises:
        EngineError: The parts leave a hole, or the server no longer had them.
    """
    rows: dict[int, tuple[ServerSteps, int]] = {}
    for part in parts:
        rows |= {part.first + offset: (part, offset) for offset in range(len(part.request_ids))}
    if not parts:
        return 0, Steps()  # the engine had no part in the run
    numbers = sorted(rows)
    if not numbers or numbers != list(range(numbers[0], numbers[-1] + 1)):
        raise EngineError("the server's record of steps has a hole; make the run shorter")

    def column(name: str) -> list[int]:
        return [part.columns[name][offset] for part, offset in rows.values()]

    rows = {number: rows[number] for number in numbers}
    columns = {name: column(name) for name in parts[0].columns if name != "start_ns"}
    return numbers[0], Steps(
        start_ns=[at - zero_ns for at in column("start_ns")],
        **{name: [] if name in _SPARSE and not any(values) else values for name, values in columns.items()},
        request_ids=[[names.get(i, i) for i in part.request_ids[offset]] for part, offset in rows.values()],
        preempted_ids=[[names.get(i, i) for i in part.preempted_ids[offset]] for part, offset in rows.values()],
        kv_blocks_total=parts[0].kv_blocks_total,
    )

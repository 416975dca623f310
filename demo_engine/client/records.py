"""What the client is asked to do, and what it saw. All times are ``perf_counter_ns`` of the host."""

from __future__ import annotations

import msgspec

from demo_engine.recorder.server_trace import ServerTrace


class Call(msgspec.Struct, frozen=True):
    """One chat request, streamed and greedy, of a fixed length."""

    prompt: str
    max_tokens: int


class RunPlan(msgspec.Struct, frozen=True):
    """One run: the subject's request, alone or while a neighbour decodes."""

    subject: Call
    neighbour: Call | None = None
    neighbour_tokens: int = 3
    """The subject starts after this many tokens of the neighbour,"""
    step_share: float = 0.35
    """and after this share of the time between the neighbour's last two."""


class CallRecord(msgspec.Struct):
    """When one request's events happened at the client; written by the call as they come."""

    intended_start_ns: int
    connect_start_ns: int = 0
    connected_ns: int = 0
    end_ns: int = 0
    event_ns: list[int] = []
    """When each data event of the reply was read, the final ``[DONE]`` aside."""
    request_id: str = ""


class CallResult(msgspec.Struct, frozen=True):
    """Both sides of one request."""

    client: CallRecord
    server: ServerTrace


class RunResult(msgspec.Struct, frozen=True):
    """One run, with anchors between the two clocks taken at its start and its end."""

    start_wall_ns: int
    start_perf_ns: int
    end_wall_ns: int
    end_perf_ns: int
    subject: CallResult
    neighbour: CallResult | None = None

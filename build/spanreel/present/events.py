"""What the server tells the pages, as server-sent events. All times count from the run's start, in nanoseconds."""

from __future__ import annotations

from typing import Literal

import msgspec

HEARTBEAT = b": beat\n\n"


class StateEvent(msgspec.Struct, frozen=True, tag_field="type", tag="state"):
    """Whether the engine can answer now."""

    state: Literal["live", "starting", "replay"]
    reason: str = ""
    """Why it is not live, in a few words."""
    machine: str = ""
    model: str = ""


class StartEvent(msgspec.Struct, frozen=True, tag_field="type", tag="start"):
    """A run begins."""

    run: int


class SpanEvent(msgspec.Struct, frozen=True, tag_field="type", tag="span"):
    """A stage has ended; the fields are those of the recorded twin's spans."""

    name: str
    component: str
    start_ns: int
    duration_ns: int
    pattern: Literal["solid", "wait"]
    role: str
    run: int = 0


class TokenEvent(msgspec.Struct, frozen=True, tag_field="type", tag="token"):
    """Text has reached the client."""

    t_ns: int
    text: str
    run: int = 0


class EndEvent(msgspec.Struct, frozen=True, tag_field="type", tag="end"):
    """The last byte has reached the client."""

    ttft_ns: int
    e2e_ns: int
    run: int = 0


class FailedEvent(msgspec.Struct, frozen=True, tag_field="type", tag="failed"):
    """A run is over without its end."""

    reason: str
    run: int = 0


RunEvent = SpanEvent | TokenEvent | EndEvent
Event = StateEvent | StartEvent | SpanEvent | TokenEvent | EndEvent | FailedEvent


def sse(event: Event) -> bytes:
    """Return an event as it goes over the wire."""
    return b"data: " + msgspec.json.encode(event) + b"\n\n"

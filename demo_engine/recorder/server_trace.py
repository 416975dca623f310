"""What the serving side knows of one request, as ``/v1/traces/{request_id}`` returns it.

All times are ``perf_counter_ns`` of the host, which all its processes share.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import msgspec

from demo_engine.core.request import FinishReason
from demo_engine.recorder.span_types import COMPONENTS

Attributes = dict[str, str | int | bool]
BODY_NS = "body_ns"
"""Attribute of ``receive``: how long after the headers the last byte of the body was here, if it came later."""


class ServerSpan(msgspec.Struct, frozen=True, omit_defaults=True):
    """One stage on the serving side."""

    name: str
    component: str
    start_ns: int
    duration_ns: int
    attributes: Attributes = {}
    """What was decided or found in it."""


class ServerTokens(msgspec.Struct):
    """Columns of the output tokens, one entry a token, appended as they come."""

    id: list[int] = []
    text: list[str] = []
    """The text that became certain with the token; empty while it is held back."""
    step: list[int] = []
    sample_ns: list[int] = []
    detok_ns: list[int] = []
    write_ns: list[int] = []
    event: list[int] = []
    """Which data event of the reply carried the last of the token's text."""


class ServerSteps(msgspec.Struct, frozen=True):
    """The engine's steps while the request was there, the one that ran when it arrived included."""

    first: int
    """Number of the first of them."""
    columns: dict[str, list[int]]
    request_ids: list[list[str]]
    preempted_ids: list[list[str]]
    kv_blocks_total: int


class ProxyTrace(msgspec.Struct):
    """What a reverse proxy in front of the server saw of the reply, written down as it came."""

    start_ns: int
    """When it had read the request."""
    is_buffering: bool
    """Whether it held the reply until it was whole."""
    event_ns: list[int] = []
    """When it had read each data event, the final ``[DONE]`` aside."""
    first_write_ns: int = 0
    end_ns: int = 0
    """When it handed on the last of it."""
    num_reads: int = 0
    num_writes: int = 0


class ServerTrace(msgspec.Struct, frozen=True):
    """The whole of it."""

    request_id: str
    clock: str
    bracket_ns: int
    """Half-width of the send/receive bracket between the API and the engine process, median."""
    num_prompt_tokens: int
    finish_reason: FinishReason
    spans: list[ServerSpan]
    tokens: ServerTokens
    steps: ServerSteps
    num_cached_tokens: int = 0
    replica: int = 0
    """Whose steps these are."""
    proxy: ProxyTrace | None = None
    """Added by the proxy that the trace was fetched through."""


class StageClock:
    """Writes down when stages end; each begins where the one before it ended, so they touch by construction."""

    def __init__(self, clock_ns: Callable[[], int] = time.perf_counter_ns) -> None:
        self._clock_ns = clock_ns
        self.start_ns = clock_ns()
        self.spans: list[ServerSpan] = []

    @property
    def end_ns(self) -> int:
        """Where the last stage ended."""
        if not self.spans:
            return self.start_ns
        return self.spans[-1].start_ns + self.spans[-1].duration_ns

    def now_ns(self) -> int:
        """Read the clock."""
        return self._clock_ns()

    def mark(self, name: str, at_ns: int | None = None, attributes: Attributes | None = None) -> ServerSpan:
        """End the stage ``name`` now, or at an instant that another process measured."""
        end_ns = self._clock_ns() if at_ns is None else at_ns
        start_ns = self.end_ns
        span = ServerSpan(name, COMPONENTS[name], start_ns, max(0, end_ns - start_ns), attributes or {})
        self.spans.append(span)
        return span

"""Sends the demo's one request and tells what happens to it, as it happens."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import aiohttp

from scenes.grammar.stages import LANES, lane_of, role, waits
from spanreel.present.events import EndEvent, RunEvent, SpanEvent, TokenEvent
from spanreel.present.reply import ReplyError, ReplyReader, ReportedSpan
from traces import Span
from traces.schema import SpanType

TIMEOUT_S = 120.0


@dataclass(frozen=True)
class Engine:
    """An engine that is ready."""

    url: str
    token: str
    model: str


CLOCK_HEADER = "X-Spanreel-Clock"
"""Where the engine says from which instant its spans count."""


@dataclass(frozen=True)
class Question:
    """What the demo asks."""

    prompt: str
    max_tokens: int


async def ask(engine: Engine, question: Question, span_types: Mapping[str, SpanType]) -> AsyncIterator[RunEvent]:
    """Send the question on a new connection and yield what happens, counted from this call.

    Both ends read the same host's clock; the engine counts from the instant at which it had read the headers, and
    says in its reply's headers when that was. Without that, it is taken from the first report to arrive.

    Args:
        engine: Whom to ask.
        question: What to ask.
        span_types: Span name → lane and kind, from the recorded set; spans of other names are left out.

    Raises:
        ReplyError: The engine refused, or did not finish its reply.
        aiohttp.ClientError: The connection failed.
    """
    log = _Log(span_types)
    timeout = aiohttp.ClientTimeout(total=TIMEOUT_S)
    connector = aiohttp.TCPConnector(force_close=True)
    async with aiohttp.ClientSession(connector=connector, timeout=timeout, trace_configs=[log.stamps()]) as session:
        body = {
            "model": engine.model, "stream": True, "temperature": 0, "ignore_eos": True,
            "max_tokens": question.max_tokens, "messages": [{"role": "user", "content": question.prompt}],
        }  # fmt: skip
        headers = {"Authorization": f"Bearer {engine.token}", "X-Spanreel-Spans": "live"}
        async with session.post(f"{engine.url}/v1/chat/completions", json=body, headers=headers) as response:
            if response.status != 200:
                raise ReplyError(f"engine answered {response.status}")
            log.engine_counts_from(response.headers.get(CLOCK_HEADER, ""))
            reader = ReplyReader()
            async for data in response.content.iter_any():
                now_ns = log.now_ns()
                for event in log.events(reader.feed(data), now_ns):
                    yield event
            if not reader.is_done or log.ttft_ns is None:
                raise ReplyError("engine broke off")
            yield EndEvent(log.ttft_ns, log.now_ns())


class _Log:
    """Turns news of one request into events on the client's clock."""

    def __init__(self, span_types: Mapping[str, SpanType]) -> None:
        self.ttft_ns: int | None = None
        self._span_types = span_types
        self._start_ns = time.perf_counter_ns()
        self._connect_ns = self._connected_ns = 0
        self._headers_read_ns: int | None = None
        self._is_open = False
        """Whether the client's own stages have been told."""

    def now_ns(self) -> int:
        """Return how long ago the request began."""
        return time.perf_counter_ns() - self._start_ns

    def stamps(self) -> aiohttp.TraceConfig:
        """Note when the connection is asked for and when it stands."""
        config = aiohttp.TraceConfig()

        async def connect_start(_session: aiohttp.ClientSession, _context: SimpleNamespace, _params: Any) -> None:
            self._connect_ns = self.now_ns()

        async def connected(_session: aiohttp.ClientSession, _context: SimpleNamespace, _params: Any) -> None:
            self._connected_ns = self.now_ns()

        config.on_connection_create_start.append(connect_start)
        config.on_connection_create_end.append(connected)
        return config

    def engine_counts_from(self, instant: str) -> None:
        """Note the engine's zero on the host's clock, if it is one that can be."""
        if instant.isascii() and instant.isdigit():
            zero_ns = int(instant) - self._start_ns
            if self._connected_ns <= zero_ns <= self.now_ns():
                self._headers_read_ns = zero_ns

    def events(self, news: list[Any], now_ns: int) -> list[RunEvent]:
        """Return the events for what has just been read."""
        spans = [item for item in news if isinstance(item, ReportedSpan)]
        events = [] if self._is_open or not spans else self._opening(spans, now_ns)
        for item in news:
            if isinstance(item, ReportedSpan):
                events += self._span(item.name, item.start_ns + (self._headers_read_ns or 0), item.duration_ns)
            else:
                self.ttft_ns = self.ttft_ns or now_ns
                events.append(TokenEvent(now_ns, item.text))
        return events

    def _opening(self, spans: list[ReportedSpan], now_ns: int) -> list[RunEvent]:
        """Place the engine's clock, and tell the client's own stages."""
        self._is_open = True
        if self._headers_read_ns is None:
            reported_ns = max(span.start_ns + span.duration_ns for span in spans)
            self._headers_read_ns = max(self._connected_ns, now_ns - reported_ns)
        read_ns = self._headers_read_ns
        return [
            *self._span("prepare", 0, self._connect_ns),
            *self._span("connect", self._connect_ns, self._connected_ns - self._connect_ns),
            *self._span("request", self._connected_ns, read_ns - self._connected_ns),
        ]

    def _span(self, name: str, start_ns: int, duration_ns: int) -> list[RunEvent]:
        if name not in self._span_types:
            return []
        span = Span(name, self._span_types[name], start_ns, duration_ns)
        lane = lane_of(span)
        component = span.component if lane is None else LANES[lane][1][0]
        return [SpanEvent(name, component, start_ns, duration_ns, "wait" if waits(span) else "solid", role(span))]

"""Server-sent events: one reply, chunk by chunk, with exactly one terminal event."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import AsyncIterator

import msgspec
from aiohttp import web

from demo_engine.api.errors import ApiError
from demo_engine.api.frames import TokenFrames
from demo_engine.api.generation import Delta, Generation
from demo_engine.api.replies import DONE, Ending, Reply, sse
from demo_engine.recorder.server_trace import ServerSpan

_log = logging.getLogger(__name__)
SPANS_HEADER = "X-Spanreel-Spans"
CLOCK_HEADER = "X-Spanreel-Clock"
"""The instant from which the spans count, on the clock that all processes of this machine read."""
_HEADERS = {
    "Content-Type": "text/event-stream; charset=utf-8",
    "Cache-Control": "no-cache",
    "X-Accel-Buffering": "no",
    "X-Content-Type-Options": "nosniff",
}


async def stream_reply(
    request: web.Request, generation: Generation, deltas: AsyncIterator[Delta], reply: Reply
) -> web.StreamResponse:
    """Write the reply as it comes.

    With ``X-Spanreel-Spans: live`` the spans go along as comment lines, which every client of such streams ignores.
    A failure after the first byte becomes an ``error`` event.
    """
    live = _LiveSpans(generation, request.headers.get(SPANS_HEADER) == "live")
    response = web.StreamResponse(headers=_HEADERS | {"X-Request-Id": generation.id} | live.headers())
    frames = TokenFrames(generation.replica.config.tokens_per_frame)
    opening = reply.opening()
    num_events = len(opening)
    try:
        await response.prepare(request)
        await response.write(live.lines(tuple(generation.stages.spans)) + b"".join(map(sse, opening)))
        async for delta in deltas:
            chunks = [live.lines(delta.spans)]
            frame = frames.push(delta)
            if frame is not None and any(frame):
                chunks.append(sse(reply.text(*frame)))
            if delta.finish_reason is not None:
                chunks.append(_closing(reply, generation.ending()))
            payload = b"".join(chunks)
            if frame is not None:
                generation.handed_out(time.perf_counter_ns(), num_events)
                num_events += 1
            if delta.finish_reason is not None:
                generation.stages.mark("write")
            if payload:
                await response.write(payload)
    except ConnectionError:
        return response  # the client has left; the request is cancelled on the way out
    except ApiError as error:
        await _break_off(response, error)
    except Exception:
        _log.exception("%s failed", generation.id)
        await _break_off(response, ApiError(500, "internal error; see the server's log"))
    with contextlib.suppress(ConnectionError):
        await response.write_eof()
    return response


async def _break_off(response: web.StreamResponse, error: ApiError) -> None:
    """End the stream with the error as its one terminal event."""
    with contextlib.suppress(ConnectionError):
        await response.write(sse(error.body()) + DONE)


def _closing(reply: Reply, ending: Ending) -> bytes:
    parts = [sse(reply.closing(ending))]
    if reply.with_usage:
        parts.append(sse(reply.usage(ending)))
    return b"".join(parts) + DONE


class _LiveSpans:
    """Spans as comment lines, counted from the instant at which the headers were read."""

    def __init__(self, generation: Generation, wanted: bool) -> None:
        self._zero_ns = generation.stages.start_ns
        self._wanted = wanted

    def headers(self) -> dict[str, str]:
        """Return what tells a client of this machine when the spans' zero was."""
        return {CLOCK_HEADER: str(self._zero_ns)} if self._wanted else {}

    def lines(self, spans: tuple[ServerSpan, ...]) -> bytes:
        """Return the comment lines, or nothing if nobody asked for them."""
        if not self._wanted:
            return b""
        relative = [msgspec.structs.replace(span, start_ns=span.start_ns - self._zero_ns) for span in spans]
        return b"".join(b": span " + msgspec.json.encode(span) + b"\n\n" for span in relative)

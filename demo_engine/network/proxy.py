"""A reverse proxy in front of the API: it passes replies on as they come, or holds each until it is whole.

The latter is what nginx does by default (``proxy_buffering on``, with buffers that hold a whole reply). It honours
``X-Accel-Buffering: no``, which this server sends; this proxy stands for the many that do not.

Nothing is decided here: the server behind it sees the client's headers and refuses what it would refuse anyway.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterator, Mapping

import aiohttp
import msgspec
from aiohttp import web
from multidict import CIMultiDict
from yarl import URL

from demo_engine.api.app import MAX_BODY_BYTES
from demo_engine.api.connection import BODY_DEADLINE_S, Connection
from demo_engine.api.errors import ApiError
from demo_engine.api.replies import DONE, sse
from demo_engine.recorder.server_trace import ProxyTrace, ServerTrace

MAX_HELD_BYTES = 8 * 2**20
"""A longer reply is passed on in lumps of this size."""
MAX_TRACES = 256
RETRY_S = 2
_CONNECT_S = 5.0
_HOP_BY_HOP = frozenset(
    {
        "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "te", "trailer", "transfer-encoding",
        "upgrade", "content-length", "expect",
    }
)  # fmt: skip


class Proxy:
    """Forwards every request to one server.

    Args:
        upstream: The server's address.
        is_buffering: Whether replies are held until they are whole.
    """

    def __init__(self, upstream: str, *, is_buffering: bool) -> None:
        self._upstream = upstream
        self._is_buffering = is_buffering
        self._traces: OrderedDict[str, ProxyTrace] = OrderedDict()
        self._session: aiohttp.ClientSession | None = None

    def app(self) -> web.Application:
        """Return the application."""
        app = web.Application(client_max_size=MAX_BODY_BYTES)
        app.cleanup_ctx.append(self._with_session)
        app.router.add_get("/v1/traces/{request_id}", self._trace)
        app.router.add_route("*", "/{tail:.*}", self._forward)
        return app

    async def _with_session(self, _app: web.Application) -> AsyncIterator[None]:
        timeout = aiohttp.ClientTimeout(total=None, connect=_CONNECT_S)
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=connector, timeout=timeout, auto_decompress=False) as session:
            self._session = session
            yield

    async def _trace(self, request: web.Request) -> web.StreamResponse:
        """Return the server's record with our own in it."""
        own = self._traces.get(request.match_info["request_id"])
        if own is None:
            return await self._forward(request)
        with _busy(request):
            async with self._asked(request, b"") as reply:
                body = await reply.read()
                if reply.status == 200:
                    whole = msgspec.json.decode(body, type=ServerTrace)
                    body = msgspec.json.encode(msgspec.structs.replace(whole, proxy=own))
                return web.Response(status=reply.status, headers=_forwarded(reply.headers), body=body)

    async def _forward(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        with _busy(request):
            try:
                body = await _body_of(request)
                trace = ProxyTrace(time.perf_counter_ns(), self._is_buffering)
                async with self._asked(request, body) as reply:
                    response = web.StreamResponse(status=reply.status, headers=_forwarded(reply.headers))
                    await self._relay(request, reply, response, trace)
            except ApiError as error:
                return error.response()
            except aiohttp.ClientError:
                lost = ApiError(502, "the server behind the proxy is gone", code="upstream_lost", retry_s=RETRY_S)
                if not response.prepared:
                    return lost.response()
                await _break_off(request, response, lost)
            except ConnectionError:
                pass  # the client has left; leaving the block above has closed the connection to the server
            return response

    async def _relay(
        self, request: web.Request, reply: aiohttp.ClientResponse, response: web.StreamResponse, trace: ProxyTrace
    ) -> None:
        held = b""
        events = _EventCount()
        async for data in reply.content.iter_any():
            trace.event_ns += [time.perf_counter_ns()] * events.count(data)
            trace.num_reads += 1
            held += data
            if not self._is_buffering or len(held) >= MAX_HELD_BYTES:
                await self._write(request, response, held, trace)
                held = b""
        if held or not response.prepared:
            await self._write(request, response, held, trace)
        trace.end_ns = time.perf_counter_ns()
        if request_id := reply.headers.get("X-Request-Id"):
            self._traces[request_id] = trace
            if len(self._traces) > MAX_TRACES:
                self._traces.popitem(last=False)
        await response.write_eof()

    async def _write(self, request: web.Request, response: web.StreamResponse, data: bytes, trace: ProxyTrace) -> None:
        if not response.prepared:
            await response.prepare(request)
        trace.num_writes += 1
        trace.first_write_ns = trace.first_write_ns or time.perf_counter_ns()
        await response.write(data)

    @contextlib.asynccontextmanager
    async def _asked(self, request: web.Request, body: bytes) -> AsyncIterator[aiohttp.ClientResponse]:
        """Ask the server what the client asks us."""
        assert self._session is not None  # noqa: S101 (made when the application started)
        url = URL(self._upstream + request.raw_path, encoded=True)
        async with self._session.request(
            request.method, url, headers=_forwarded(request.headers), data=body or None, allow_redirects=False
        ) as reply:
            yield reply


class _EventCount:
    """Counts the data events in pieces of a stream, the final ``[DONE]`` aside."""

    def __init__(self) -> None:
        self._pending = b""

    def count(self, data: bytes) -> int:
        """Return how many events this piece completes."""
        *lines, self._pending = (self._pending + data).split(b"\n")
        return sum(line.startswith(b"data: ") and line != b"data: [DONE]" for line in lines)


@contextlib.contextmanager
def _busy(request: web.Request) -> Iterator[None]:
    """Hold the connection's timer while its request is served."""
    connection = request.protocol
    if isinstance(connection, Connection):
        connection.headers_read()
    try:
        yield
    finally:
        if isinstance(connection, Connection):
            connection.reply_done()


async def _body_of(request: web.Request) -> bytes:
    """Return the body.

    Raises:
        ApiError: It is too large, or does not arrive in time.
    """
    try:
        async with asyncio.timeout(BODY_DEADLINE_S):
            return await request.read()
    except TimeoutError:
        raise ApiError(408, f"the body did not arrive within {BODY_DEADLINE_S:.0f} s") from None
    except web.HTTPRequestEntityTooLarge:
        raise ApiError(413, f"the body is larger than {MAX_BODY_BYTES} bytes") from None


async def _break_off(request: web.Request, response: web.StreamResponse, error: ApiError) -> None:
    """End a reply that has begun: a stream with the error as its one terminal event, another one unfinished."""
    if response.content_type != "text/event-stream":
        if request.transport is not None:
            request.transport.close()
        return
    with contextlib.suppress(ConnectionError):
        await response.write(sse(error.body()) + DONE)
        await response.write_eof()


def _forwarded(headers: Mapping[str, str]) -> CIMultiDict[str]:
    """Return the headers that are not about one connection alone."""
    return CIMultiDict((name, value) for name, value in headers.items() if name.lower() not in _HOP_BY_HOP)

"""The client's connections: one kept for all requests, or a new one for each, with or without a new TLS context."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import time
from collections.abc import AsyncIterator
from contextvars import ContextVar
from types import SimpleNamespace
from typing import Any, Self

import aiohttp

from demo_engine.client.endpoint import Endpoint
from demo_engine.client.records import CallRecord, ConnectionUse

TIMEOUT_S = 300.0
_record: ContextVar[CallRecord] = ContextVar("record")


class Connections:
    """Hands out sessions that stamp what happens to their connections.

    Entering opens what is to be reused: one connection, with a request of its own. A request that finds it taken opens
    another one, as its trace then shows.

    Args:
        endpoint: Where to.
        use: Whether connections, and what is needed for TLS, are used again.
    """

    def __init__(self, endpoint: Endpoint, use: ConnectionUse) -> None:
        self._endpoint = endpoint
        self._use = use
        self._context: ssl.SSLContext | None = None
        self._kept: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        """Make what all requests share."""
        self._context = self._make_context()
        if self._use.connection == "reused":
            self._kept = self._session(self._context, keep=True)
            url, headers = f"{self._endpoint.way_url}/v1/models", self._endpoint.headers
            async with self._kept.get(url, headers=headers, trace_request_ctx=CallRecord(0)) as response:
                await response.read()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close what was kept."""
        if self._kept is not None:
            await self._kept.close()

    @contextlib.asynccontextmanager
    async def session(self, record: CallRecord) -> AsyncIterator[aiohttp.ClientSession]:
        """Yield a session for one request, at its intended start; ``record`` gets the stamps of its connection.

        Whatever the requests share is built by then.
        """
        _record.set(record)
        if self._kept is not None:
            await _until(record.intended_start_ns)
            yield self._kept
        elif self._use.tls_context == "shared":
            async with self._session(self._context, keep=False) as session:
                await _until(record.intended_start_ns)
                yield session
        else:
            await _until(record.intended_start_ns)
            async with self._session(self._make_context(), keep=False) as session:
                yield session

    def _session(self, context: ssl.SSLContext | None, *, keep: bool) -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(force_close=not keep, ssl=True if context is None else context)
        timeout = aiohttp.ClientTimeout(total=TIMEOUT_S)
        return aiohttp.ClientSession(connector=connector, trace_configs=[_stamps()], timeout=timeout)

    def _make_context(self) -> ssl.SSLContext | None:
        """Return a context as Python makes it by default, which reads all certificates that this machine trusts."""
        edge = self._endpoint.edge
        if edge is None or edge.certificate is None:
            return None
        context = _StampedContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_default_certs()
        context.load_verify_locations(edge.certificate)
        return context


class _StampedContext(ssl.SSLContext):
    """Notes when a connection stands and TLS begins, which aiohttp does not tell."""

    def wrap_bio(self, *arguments: Any, **options: Any) -> ssl.SSLObject:
        """Begin TLS."""
        record = _record.get(None)
        if record is not None:
            record.tls_start_ns = record.tls_start_ns or time.perf_counter_ns()
        return super().wrap_bio(*arguments, **options)


async def _until(instant_ns: int) -> None:
    await asyncio.sleep(max(0, instant_ns - time.perf_counter_ns()) / 1e9)


def _stamps() -> aiohttp.TraceConfig:
    """Note when a request's first connection is asked for and when it stands, or when a kept one is taken."""
    config = aiohttp.TraceConfig()

    async def connect_start(_session: aiohttp.ClientSession, context: SimpleNamespace, _params: Any) -> None:
        record: CallRecord = context.trace_request_ctx
        record.connect_start_ns = record.connect_start_ns or time.perf_counter_ns()

    async def connected(_session: aiohttp.ClientSession, context: SimpleNamespace, _params: Any) -> None:
        record: CallRecord = context.trace_request_ctx
        record.connected_ns = record.connected_ns or time.perf_counter_ns()

    async def taken(_session: aiohttp.ClientSession, context: SimpleNamespace, _params: Any) -> None:
        record: CallRecord = context.trace_request_ctx
        record.connect_start_ns = record.connected_ns = time.perf_counter_ns()

    config.on_connection_create_start.append(connect_start)
    config.on_connection_create_end.append(connected)
    config.on_connection_reuseconn.append(taken)
    return config

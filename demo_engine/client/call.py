"""One streamed request on a new connection, with a stamp for everything that happens to it."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import aiohttp
import msgspec

from demo_engine.client.records import Call, CallRecord
from demo_engine.errors import EngineError
from demo_engine.recorder.server_trace import ServerTrace

TIMEOUT_S = 300.0
LEAD_NS = 50_000_000
"""How far ahead a start is set, so that everything is built by then."""


@dataclass(frozen=True)
class Endpoint:
    """The server that is measured."""

    url: str
    token: str
    model: str

    @property
    def headers(self) -> dict[str, str]:
        """Return what every request carries."""
        return {"Authorization": f"Bearer {self.token}"}


async def send(endpoint: Endpoint, call: Call, record: CallRecord, news: asyncio.Condition) -> None:
    """Send a request at its intended start and read its reply to the last byte.

    Args:
        endpoint: The server.
        call: What to ask.
        record: Filled in as things happen.
        news: Wakes whoever follows the record, after each piece of the reply.

    Raises:
        EngineError: The server refused, or did not finish the reply.
    """
    body = msgspec.json.encode(_body(endpoint, call))
    timeout = aiohttp.ClientTimeout(total=TIMEOUT_S)
    connector = aiohttp.TCPConnector(force_close=True)  # a new connection for each request
    path = "chat/completions" if call.chat else "completions"
    headers = endpoint.headers | {"Content-Type": "application/json"}
    async with aiohttp.ClientSession(connector=connector, trace_configs=[_stamps(record)], timeout=timeout) as session:
        await asyncio.sleep(max(0, record.intended_start_ns - time.perf_counter_ns()) / 1e9)
        async with session.post(f"{endpoint.url}/v1/{path}", data=body, headers=headers) as response:
            if response.status != 200:
                raise EngineError(f"the server answered {response.status}: {await response.text()}")
            record.request_id = response.headers["X-Request-Id"]
            await _read(response, record, news)


def _body(endpoint: Endpoint, call: Call) -> dict[str, Any]:
    prompt = {"messages": [{"role": "user", "content": call.prompt}]} if call.chat else {"prompt": call.prompt}
    common = {"model": endpoint.model, "stream": True, "temperature": 0, "ignore_eos": True}
    return common | {"max_tokens": call.max_tokens} | prompt


async def _read(response: aiohttp.ClientResponse, record: CallRecord, news: asyncio.Condition) -> None:
    pending, is_done = b"", False
    async for data in response.content.iter_any():
        now_ns = time.perf_counter_ns()
        *lines, pending = (pending + data).split(b"\n")
        for line in lines:
            if line == b"data: [DONE]":
                is_done = True
            elif line.startswith(b'data: {"error"'):
                raise EngineError(f"the reply broke off: {line[6:].decode()}")
            elif line.startswith(b"data: "):
                record.event_ns.append(now_ns)
        async with news:
            news.notify_all()
    record.end_ns = time.perf_counter_ns()
    if not is_done:
        raise EngineError("the reply ended without [DONE]")


async def fetch_trace(session: aiohttp.ClientSession, endpoint: Endpoint, request_id: str) -> ServerTrace:
    """Return what the server wrote down about a finished request.

    Raises:
        EngineError: It does not know it any more.
    """
    async with session.get(f"{endpoint.url}/v1/traces/{request_id}", headers=endpoint.headers) as response:
        if response.status != 200:
            raise EngineError(f"no trace of {request_id}: {await response.text()}")
        return msgspec.json.decode(await response.read(), type=ServerTrace)


def _stamps(record: CallRecord) -> aiohttp.TraceConfig:
    """Note when the first connection is asked for and when it stands."""
    config = aiohttp.TraceConfig()

    async def connect_start(_session: aiohttp.ClientSession, _context: SimpleNamespace, _params: Any) -> None:
        record.connect_start_ns = record.connect_start_ns or time.perf_counter_ns()

    async def connected(_session: aiohttp.ClientSession, _context: SimpleNamespace, _params: Any) -> None:
        record.connected_ns = record.connected_ns or time.perf_counter_ns()

    config.on_connection_create_start.append(connect_start)
    config.on_connection_create_end.append(connected)
    return config

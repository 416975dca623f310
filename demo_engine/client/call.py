"""One streamed request, with a stamp for everything that happens to it."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import aiohttp
import msgspec

from demo_engine.client.connections import Connections
from demo_engine.client.endpoint import Endpoint
from demo_engine.client.records import Call, CallRecord
from demo_engine.errors import EngineError
from demo_engine.recorder.server_trace import ServerTrace

LEAD_NS = 50_000_000
"""How far ahead a start is set, so that everything is built by then."""


async def send(
    endpoint: Endpoint, connections: Connections, call: Call, record: CallRecord, news: asyncio.Condition
) -> None:
    """Send a request at its intended start and read its reply to the last byte.

    Args:
        endpoint: The server.
        connections: How to reach it.
        call: What to ask.
        record: Filled in as things happen.
        news: Wakes whoever follows the record, after each piece of the reply.

    Raises:
        EngineError: The server refused, or did not finish the reply.
    """
    body = msgspec.json.encode(_body(endpoint, call))
    url = f"{endpoint.way_url}{_path(call)}"
    headers = endpoint.headers | {"Content-Type": "application/json"}
    async with (
        connections.session(record) as session,
        session.post(url, data=body, headers=headers, trace_request_ctx=record) as response,
    ):
        if response.status != 200:
            raise EngineError(f"the server answered {response.status}: {await response.text()}")
        record.request_id = response.headers["X-Request-Id"]
        if call.tokenize:
            await response.read()
            record.end_ns = time.perf_counter_ns()
        else:
            await _read(response, record, news)


def _path(call: Call) -> str:
    if call.tokenize:
        return "/tokenize"
    return "/v1/chat/completions" if call.chat else "/v1/completions"


def _body(endpoint: Endpoint, call: Call) -> dict[str, Any]:
    if call.tokenize:
        return {"model": endpoint.model, "prompt": call.prompt}
    prompt = {"messages": [{"role": "user", "content": call.prompt}]} if call.chat else {"prompt": call.prompt}
    common = {"model": endpoint.model, "stream": True, "temperature": 0, "ignore_eos": True}
    return common | {"max_tokens": call.max_tokens, "stop": call.stop} | prompt | _format(call.json_schema)


def _format(json_schema: str | None) -> dict[str, Any]:
    if json_schema is None:
        return {}
    named = {"name": "reply", "schema": msgspec.Raw(json_schema.encode())}
    return {"response_format": {"type": "json_schema", "json_schema": named}}


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


async def fetch_trace(endpoint: Endpoint, connections: Connections, request_id: str) -> ServerTrace:
    """Return what the server wrote down about a finished request.

    Raises:
        EngineError: It does not know it any more.
    """
    record = CallRecord(0)
    url = f"{endpoint.way_url}/v1/traces/{request_id}"
    async with (
        connections.session(record) as session,
        session.get(url, headers=endpoint.headers, trace_request_ctx=record) as response,
    ):
        if response.status != 200:
            raise EngineError(f"no trace of {request_id}: {await response.text()}")
        return msgspec.json.decode(await response.read(), type=ServerTrace)

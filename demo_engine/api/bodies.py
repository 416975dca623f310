"""Reading a request's body, within its limits."""

from __future__ import annotations

import asyncio
import time
from typing import TypeVar

import msgspec
from aiohttp import web

from demo_engine.api.connection import BODY_DEADLINE_S
from demo_engine.api.errors import ApiError
from demo_engine.api.validation import parse

ARRIVED_NS = web.RequestKey("arrived_ns", int)
"""When the last byte of a body was here that did not come with its headers."""
_Body = TypeVar("_Body", bound=msgspec.Struct)


async def read_body(request: web.Request, kind: type[_Body]) -> _Body:
    """Return the body, read and checked.

    Raises:
        ApiError: It is not JSON by its type, is compressed, does not arrive in time, is too large, or is refused.
    """
    if request.content_type != "application/json":
        raise ApiError(415, f"content type {request.content_type!r}; send application/json")
    if "Content-Encoding" in request.headers:
        raise ApiError(415, "compressed bodies are not accepted")
    came_with_headers = request.content.is_eof()
    try:
        async with asyncio.timeout(BODY_DEADLINE_S):
            data = await request.read()
    except TimeoutError:
        raise ApiError(408, f"the body did not arrive within {BODY_DEADLINE_S:.0f} s") from None
    if not came_with_headers:
        request[ARRIVED_NS] = time.perf_counter_ns()
    return parse(data, kind)

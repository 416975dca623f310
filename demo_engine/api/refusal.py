"""What a connection beyond the limit is told."""

from __future__ import annotations

import asyncio
from typing import ClassVar

import msgspec

from demo_engine.api.errors import ApiError

MAX_OPEN = 256
"""Refusals that have not been read yet; a connection beyond these is closed without a word."""
RETRY_S = 1
_DEADLINE_S = 1.0
_BODY = msgspec.json.encode(ApiError(503, "too many connections are open", code="too_many_connections").body())
_ANSWER = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nCache-Control: no-store\r\n"
    b"X-Content-Type-Options: nosniff\r\nConnection: close\r\nRetry-After: %d\r\nContent-Length: %d\r\n\r\n%b"
    % (RETRY_S, len(_BODY), _BODY)
)


def refuse(transport: asyncio.BaseTransport) -> None:
    """Answer a connection with 503, whatever it asks, and close it when its client has read that, or soon."""
    if not isinstance(transport, asyncio.Transport):
        return
    if len(_Refusal.open) >= MAX_OPEN:
        transport.abort()
        return
    refusal = _Refusal(transport)
    transport.set_protocol(refusal)
    transport.write(_ANSWER)
    transport.write_eof()


class _Refusal(asyncio.Protocol):
    """Takes what still arrives and drops it: were the connection closed at once, that would destroy the answer."""

    open: ClassVar[set[_Refusal]] = set()

    def __init__(self, transport: asyncio.Transport) -> None:
        self._deadline = asyncio.get_running_loop().call_later(_DEADLINE_S, transport.abort)
        self.open.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._deadline.cancel()
        self.open.discard(self)

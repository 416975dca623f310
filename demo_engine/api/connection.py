"""One connection: how many there may be, and how long a request may take to arrive.

aiohttp has no deadline for a request's headers, so a client that sends a byte a minute would hold its socket for ever.
"""

from __future__ import annotations

import asyncio

from aiohttp import web

MAX_CONNECTIONS = 64
HEADERS_DEADLINE_S = 10.0
BODY_DEADLINE_S = 30.0
KEEPALIVE_S = 75.0


class Connection(web.RequestHandler):
    """aiohttp's protocol with a timer from the first byte to the end of the headers."""

    __slots__ = ("_deadline", "_is_idle", "_server")

    def __init__(self, server: web.Server, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(server, loop=loop, keepalive_timeout=KEEPALIVE_S, lingering_time=0)
        self._server = server
        self._deadline: asyncio.TimerHandle | None = None
        self._is_idle = True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Accept the connection, or refuse it when there are too many."""
        super().connection_made(transport)
        if len(self._server.connections) > MAX_CONNECTIONS:
            self._abort()
        else:
            self._start_deadline()

    def data_received(self, data: bytes) -> None:
        """Feed the parser; between two requests this is where the next one begins."""
        if self._is_idle and self._deadline is None:
            self._start_deadline()
        super().data_received(data)

    def connection_lost(self, exc: BaseException | None) -> None:
        """Forget the timer."""
        self._stop_deadline()
        super().connection_lost(exc)

    def headers_read(self) -> None:
        """Stop the timer: a handler has the request."""
        self._is_idle = False
        self._stop_deadline()

    def reply_done(self) -> None:
        """Be ready for the connection's next request."""
        self._is_idle = True

    def _stop_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _start_deadline(self) -> None:
        self._deadline = self._loop.call_later(HEADERS_DEADLINE_S, self._abort)

    def _abort(self) -> None:
        if isinstance(self.transport, asyncio.WriteTransport):
            self.transport.abort()

"""One connection: how many there may be, how long a request may take to arrive, and a reply to be read.

aiohttp has no deadline for a request's headers, so a client that sends a byte a minute would hold its socket for ever;
nor has it one for replies, so a client that does not read would hold its socket, and its place in the queue, as long.
"""

from __future__ import annotations

import asyncio
import socket

from aiohttp import web

from demo_engine.api.refusal import refuse

MAX_CONNECTIONS = 64
HEADERS_DEADLINE_S = 10.0
BODY_DEADLINE_S = 30.0
KEEPALIVE_S = 75.0
LINGER_S = 1.0
"""How long what is left of a refused request is still read: a connection that closes on it would destroy the reply."""
SEND_BUFFER_BYTES = 65_536
"""What the system holds of a reply that is not read (Linux doubles it); by itself it would hold megabytes."""
READ_DEADLINE_S = 10.0
"""How long a client may leave unread what no longer fits into the buffers."""


class Connection(web.RequestHandler):
    """aiohttp's protocol with a timer from the first byte to the end of the headers, and one while nobody reads."""

    __slots__ = ("_deadline", "_is_idle", "_read_deadline", "_server")

    def __init__(self, server: web.Server, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(server, loop=loop, keepalive_timeout=KEEPALIVE_S, lingering_time=LINGER_S)
        self._server = server
        self._deadline: asyncio.TimerHandle | None = None
        self._read_deadline: asyncio.TimerHandle | None = None
        self._is_idle = True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Accept the connection, or refuse it when there are too many."""
        if len(self._server.connections) >= MAX_CONNECTIONS:
            refuse(transport)
        else:
            super().connection_made(transport)
            transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
            self._start_deadline()

    def data_received(self, data: bytes) -> None:
        """Feed the parser; between two requests this is where the next one begins."""
        if self._is_idle and self._deadline is None:
            self._start_deadline()
        super().data_received(data)

    def connection_lost(self, exc: BaseException | None) -> None:
        """Forget the timers."""
        self._stop_deadline()
        self._stop_read_deadline()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Start a timer: the buffers are full."""
        super().pause_writing()
        self._read_deadline = self._loop.call_later(READ_DEADLINE_S, self._abort)

    def resume_writing(self) -> None:
        """Stop it: the client has read."""
        self._stop_read_deadline()
        super().resume_writing()

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

    def _stop_read_deadline(self) -> None:
        if self._read_deadline is not None:
            self._read_deadline.cancel()
            self._read_deadline = None

    def _start_deadline(self) -> None:
        self._deadline = self._loop.call_later(HEADERS_DEADLINE_S, self._abort)

    def _abort(self) -> None:
        if isinstance(self.transport, asyncio.WriteTransport):
            self.transport.abort()

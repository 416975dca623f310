"""The listening socket, in a thread of its own: it answers health probes itself and hands on everything else.

A probe must never wait behind work, so it must not wait for the event loop. The thread looks at the first bytes of
each new connection without taking them. A plain ``GET /healthz`` from a host name that is served is answered on the
spot; whatever is not exactly that, a foreign host or a later request of the same connection included, goes to the
event loop, where the guard decides. A new connection takes about 0.07 ms longer for it.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading
import time
from collections.abc import Callable

from demo_engine.api.connection import HEADERS_DEADLINE_S, MAX_CONNECTIONS

_LOOK_BYTES = 4096
_CHECK_S = 1.0
_PROBE = "GET /healthz HTTP/1.1"
_DOUBTFUL = frozenset({"origin", "sec-fetch-site", "content-length", "transfer-encoding", "expect", "upgrade"})
_BODY = b'{"ok":true}'
_ANSWER = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nCache-Control: no-store\r\n"
    b"X-Content-Type-Options: nosniff\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%b" % (len(_BODY), _BODY)
)


class FrontDoor(threading.Thread):
    """Accepts connections until it is closed.

    Args:
        host: Address to listen on; a name that has several takes the first.
        port: Port; 0 takes a free one.
        hand_on: Receives each other connection, in this thread.

    Raises:
        OSError: The address cannot be had.
    """

    def __init__(self, host: str, port: int, hand_on: Callable[[socket.socket], None]) -> None:
        super().__init__(name="front door", daemon=True)
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        self._listener = socket.create_server(address[:2], family=family, backlog=128)
        self._listener.setblocking(False)
        self.port: int = self._listener.getsockname()[1]
        self._hand_on = hand_on
        self._hosts: frozenset[str] = frozenset()
        self._wakened, self._waker = socket.socketpair()
        self._silent: dict[socket.socket, float] = {}

    def allow(self, hosts: frozenset[str]) -> None:
        """Answer probes that name one of these hosts."""
        self._hosts = hosts

    def close(self) -> None:
        """Stop listening, and wait until the thread has ended."""
        self._waker.close()
        self.join()

    def run(self) -> None:
        """Accept, look, answer or hand on."""
        with selectors.DefaultSelector() as selector, self._wakened, self._listener:
            selector.register(self._wakened, selectors.EVENT_READ)
            selector.register(self._listener, selectors.EVENT_READ)
            while True:
                ready = [key.fileobj for key, _ in selector.select(_CHECK_S)]
                if self._wakened in ready:
                    break
                for connection in ready:
                    if connection is self._listener:
                        self._accept(selector)
                    elif isinstance(connection, socket.socket) and connection in self._silent:
                        self._forget(selector, connection)
                        self._receive(connection)
                self._drop_late(selector)
            for connection in self._silent:
                connection.close()

    def _accept(self, selector: selectors.BaseSelector) -> None:
        with contextlib.suppress(OSError):
            connection, _ = self._listener.accept()
            connection.setblocking(False)
            self._silent[connection] = time.monotonic() + HEADERS_DEADLINE_S
            selector.register(connection, selectors.EVENT_READ)

    def _drop_late(self, selector: selectors.BaseSelector) -> None:
        """Close connections that have said nothing until their deadline, and the oldest when there are too many."""
        now = time.monotonic()
        num_too_many = len(self._silent) - MAX_CONNECTIONS
        late = [c for index, (c, deadline) in enumerate(self._silent.items()) if deadline < now or index < num_too_many]
        for connection in late:
            self._forget(selector, connection)
            connection.close()

    def _forget(self, selector: selectors.BaseSelector, connection: socket.socket) -> None:
        selector.unregister(connection)
        del self._silent[connection]

    def _receive(self, connection: socket.socket) -> None:
        try:
            seen = connection.recv(_LOOK_BYTES, socket.MSG_PEEK)
            if not seen:
                connection.close()
            elif is_plain_probe(seen, self._hosts):
                connection.recv(len(seen))
                connection.send(_ANSWER)
                connection.close()
            else:
                self._hand_on(connection)
        except OSError:
            connection.close()


def is_plain_probe(seen: bytes, hosts: frozenset[str]) -> bool:
    """Return whether these are all bytes of a health probe that the guard would let in."""
    head, end, rest = seen.partition(b"\r\n\r\n")
    request_line, *lines = head.decode("latin-1").split("\r\n")
    if not end or rest or request_line != _PROBE:
        return False
    headers = [(name.lower(), value.strip(" \t")) for name, _, value in (line.partition(":") for line in lines)]
    named = [value for name, value in headers if name == "host"]
    if len(named) != 1 or named[0] not in hosts:
        return False
    return not any(name in _DOUBTFUL and (name, value) != ("content-length", "0") for name, value in headers)

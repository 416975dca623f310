"""A proxy that makes one mistake, so that the suite can be seen to notice it."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple


class Fault(NamedTuple):
    """What the proxy does to requests, and to each line of replies."""

    request: Callable[[dict[str, Any]], dict[str, Any]] = lambda body: body
    line: Callable[[str], str] = lambda line: line


class _Proxy(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, upstream: str, fault: Fault) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.upstream = upstream
        self.fault = fault
        self.connections: list[http.client.HTTPConnection] = []

    def hang_up(self) -> None:
        """Leave the server, whatever is still on its way."""
        for connection in self.connections:
            with contextlib.suppress(OSError):
                if connection.sock is not None:
                    connection.sock.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    """Forwards a request and reads the whole reply, without ever looking whether its own client is still there."""

    server: _Proxy

    def do_GET(self) -> None:
        self._forward(None)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self._forward(json.dumps(self.server.fault.request(body)).encode())

    def _forward(self, body: bytes | None) -> None:
        headers = {name: self.headers[name] for name in ("Authorization", "Content-Type") if name in self.headers}
        connection = http.client.HTTPConnection(self.server.upstream, timeout=120)
        self.server.connections.append(connection)
        with contextlib.suppress(OSError, http.client.HTTPException), contextlib.closing(connection):
            connection.request(self.command, self.path, body, headers)
            reply = connection.getresponse()
            lines = [self.server.fault.line(line.decode()).encode() for line in reply]
            self.send_response(reply.status)
            for name, value in reply.getheaders():
                if name.lower() not in ("content-length", "transfer-encoding", "connection"):
                    self.send_header(name, value)
            self.end_headers()
            self.wfile.write(b"".join(lines))

    def log_message(self, *_arguments: Any) -> None:
        """Stay quiet."""


@contextlib.contextmanager
def proxied(upstream: str, fault: Fault) -> Iterator[str]:
    """Yield the address of a proxy with this fault."""
    with _Proxy(upstream, fault) as proxy:
        thread = threading.Thread(target=proxy.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield f"127.0.0.1:{proxy.server_address[1]}"
        finally:
            proxy.hang_up()
            proxy.shutdown()
            thread.join()

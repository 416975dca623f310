"""Comparing the client's clock with the server's."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from demo_engine.client.bracket import measure_bracket
from demo_engine.client.endpoint import Endpoint
from demo_engine.errors import EngineError


@contextlib.contextmanager
def clock_server(answer):
    """Yield the endpoint of a server that answers every request with ``answer()``."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            data = answer()
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield Endpoint(f"http://127.0.0.1:{server.server_port}", "token", "model")
        finally:
            server.shutdown()
            thread.join()


def stamp(offset_ns: int = 0) -> bytes:
    """Return an answer of a server whose clock is off."""
    return json.dumps({"perf_counter_ns": time.perf_counter_ns() + offset_ns}).encode()


def test_a_server_on_the_same_clock_has_a_bracket():
    """Half of a round trip, so more than nothing and less than the whole exchange."""
    with clock_server(stamp) as endpoint:
        start_ns = time.perf_counter_ns()
        bracket_ns = measure_bracket(endpoint)
        assert 0 < bracket_ns < time.perf_counter_ns() - start_ns


@pytest.mark.parametrize("offset_ns", [-(10**9), 10**9])
def test_a_server_on_another_clock_is_found_out(offset_ns):
    """Its stamp cannot lie between two of ours, so spans of both must not be joined."""
    with clock_server(lambda: stamp(offset_ns)) as endpoint, pytest.raises(EngineError, match="do not share one clock"):
        measure_bracket(endpoint)


@pytest.mark.parametrize("answer", [b"no JSON", b"{}"])
def test_a_server_without_a_clock_says_so_in_one_line(answer):
    """Whatever answers there is not ours."""
    with clock_server(lambda: answer) as endpoint, pytest.raises(EngineError, match="did not tell its clock"):
        measure_bracket(endpoint)

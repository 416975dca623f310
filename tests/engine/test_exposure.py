"""What a running server shows of itself: one loopback listener, its token on one line, patience with slow sockets."""

from __future__ import annotations

import http.client
import os
import socket
import subprocess
import sys
import time
from contextlib import ExitStack

import psutil
import pytest

from engine_server import TOKEN, chat_body, open_stream

pytestmark = [pytest.mark.slow, pytest.mark.engine]


def address(server) -> tuple[str, int]:
    """Return host and port."""
    host, port = server.url.removeprefix("http://").split(":")
    return host, int(port)


def test_there_is_one_listener_and_it_is_on_the_loopback_interface(server):
    """Neither the server nor its engine listens anywhere else."""
    process = psutil.Process(server.process.pid)
    listening = [
        connection.laddr
        for member in (process, *process.children(recursive=True))
        for connection in member.net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    ]
    assert [tuple(place) for place in listening] == [address(server)]


def test_the_token_is_printed_once_and_written_nowhere_else(tmp_path):
    """A whole session, refusals and a failure included, leaves the token on its one line alone."""
    log = tmp_path / "stderr.txt"
    with log.open("w") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "demo_engine", "serve"], env=os.environ | {"SPANREEL_TOKEN": TOKEN},
            stdout=subprocess.PIPE, stderr=errors, text=True,
        )  # fmt: skip
    with process:
        lines = []
        for line in process.stdout:
            lines.append(line)
            if line == "ready\n":
                break
        port = int(lines[0].rsplit(":", 1)[1])
        for path, body in (("/v1/models", None), ("/v1/completions", b"{"), ("/nowhere", None), ("/v1/traces/x", None)):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
            connection.request("POST" if body else "GET", path, body, headers)
            assert TOKEN not in connection.getresponse().read().decode()
            connection.close()
        process.terminate()
        lines += process.stdout
    assert [line for line in lines if TOKEN in line] == [f"token {TOKEN}\n"]
    assert TOKEN not in log.read_text()


def test_sockets_that_trickle_do_not_keep_others_out(server):
    """Two hundred half-sent requests: a probe is answered, a running stream goes on, and later all is as before."""
    body = chat_body(server, max_tokens=6, ignore_eos=True, stream=True)
    with ExitStack() as held:
        stream = held.enter_context(open_stream(server, body))
        for index in range(200):
            slow = held.enter_context(socket.create_connection(address(server)))
            slow.sendall(b"GET /v1/models HTTP/1.1\r\nX" if index % 2 else b"G")
        assert server.get("/healthz") == '{"ok":true}'
        stream.settimeout(60)
        text = b""
        while b"[DONE]" not in text:
            text += stream.recv(65536)
    end = time.monotonic() + 30
    while True:
        try:
            assert server.model in server.get("/v1/models")
            break
        except OSError:
            assert time.monotonic() < end
            time.sleep(0.2)

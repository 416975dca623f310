"""Ends of all kinds: asked to stop, killed, engine lost. Nothing is left running, no stream ends in silence."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
import urllib.error
from pathlib import Path

import pytest

from engine_server import chat_body, open_stream, start_server, stop_server

pytestmark = [pytest.mark.slow, pytest.mark.engine]


def engine_pids(server) -> list[int]:
    """Return the processes whose parent is the server."""
    pids = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if int((entry / "stat").read_text().rpartition(")")[2].split()[1]) == server.process.pid:
                    pids.append(int(entry.name))
    return pids


def wait_until_gone(pid: int, timeout_s: float = 10) -> None:
    """Wait until a process has ended and been reaped."""
    end = time.monotonic() + timeout_s
    while Path(f"/proc/{pid}").exists():
        assert time.monotonic() < end, f"process {pid} is still there"
        time.sleep(0.05)


def read_all(connection) -> str:
    """Return the rest of a chunked reply."""
    connection.settimeout(20)
    data = b""
    while chunk := connection.recv(65536):
        data += chunk
        if data.endswith(b"0\r\n\r\n"):
            break
    return data.decode()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_server_and_engine(own_server, number):
    """Asked to stop in mid-stream, the server tells the client, exits with 0 and leaves no engine behind."""
    (engine,) = engine_pids(own_server)
    with open_stream(own_server, chat_body(own_server, max_tokens=400, ignore_eos=True, stream=True)) as connection:
        own_server.process.send_signal(number)
        text = read_all(connection)
    assert own_server.process.wait(15) == 0
    wait_until_gone(engine)
    assert text.count('"error"') == 1
    assert "data: [DONE]" in text


def test_the_engine_does_not_outlive_a_killed_server(own_server):
    """SIGKILL leaves the server no time to clean up; the engine sees its socket close and goes, even in a prefill."""
    (engine,) = engine_pids(own_server)
    messages = [{"role": "user", "content": "word " * 3000}]
    with open_stream(own_server, chat_body(own_server, messages=messages, stream=True)):
        own_server.process.kill()
        own_server.process.wait()
        wait_until_gone(engine)


def test_a_server_that_follows_its_parent_stops_when_standard_input_closes():
    """With ``--with-stdin`` a server whose parent was killed ends by itself, without a signal."""
    server = start_server("--with-stdin", stdin=subprocess.PIPE)
    (engine,) = engine_pids(server)
    server.process.stdin.close()
    assert server.process.wait(15) == 0
    wait_until_gone(engine)
    server.process.stdout.close()


def test_a_lost_engine_ends_streams_with_an_error_and_is_not_ready(own_server):
    """When the engine dies, a stream gets one error event and ``[DONE]``; readyz and new requests say 503."""
    (engine,) = engine_pids(own_server)
    with open_stream(own_server, chat_body(own_server, max_tokens=400, ignore_eos=True, stream=True)) as connection:
        os.kill(engine, signal.SIGKILL)
        text = read_all(connection)
    assert text.count('"error"') == 1
    assert '"finish_reason":"' not in text
    assert "data: [DONE]" in text
    assert own_server.get("/healthz") == '{"ok":true}'
    with pytest.raises(urllib.error.HTTPError) as refused:
        own_server.get("/readyz")
    assert refused.value.code == 503
    refused.value.close()
    assert stop_server(own_server) == 1


def test_a_stopped_engine_is_not_ready_and_recovers(own_server):
    """An engine that does not beat (SIGSTOP) is not ready after a second; continued, it is ready again."""
    (engine,) = engine_pids(own_server)
    os.kill(engine, signal.SIGSTOP)
    try:
        wait_for_readiness(own_server, expected=False)
    finally:
        os.kill(engine, signal.SIGCONT)
    wait_for_readiness(own_server, expected=True)


def wait_for_readiness(server, *, expected: bool, timeout_s: float = 10) -> None:
    """Wait until readyz says what is expected."""
    end = time.monotonic() + timeout_s
    while True:
        try:
            server.get("/readyz")
            ready = True
        except urllib.error.HTTPError as refused:
            refused.close()
            ready = False
        if ready == expected:
            return
        assert time.monotonic() < end
        time.sleep(0.1)


def test_a_taken_port_and_a_public_address_are_usage_errors(server):
    """The message names the value and the next step; the exit code is 2 and there is no traceback."""
    port = server.url.rsplit(":", 1)[1]
    for arguments, word in ((["--port", port], "--port"), (["--host", "0.0.0.0"], "ssh -L")):  # noqa: S104
        done = subprocess.run(
            [sys.executable, "-m", "demo_engine", "serve", *arguments], capture_output=True, text=True, check=False
        )
        assert done.returncode == 2
        assert word in done.stderr
        assert len(done.stderr.splitlines()) <= 2


def test_the_token_shows_in_no_process_list(server):
    """Neither the server nor its engine carries the token in its arguments."""
    for pid in (server.process.pid, *engine_pids(server)):
        assert server.token.encode() not in Path(f"/proc/{pid}/cmdline").read_bytes()

"""A real server as a child process of the tests, and raw requests to it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import msgspec

from demo_engine.weights import DEFAULT_MODEL

QUESTION = [{"role": "user", "content": "What is the capital of France?"}]
TOKEN = "suite-token"


@dataclass(frozen=True)
class RunningServer:
    """A server process that is ready."""

    url: str
    process: subprocess.Popen
    token: str = TOKEN
    model: str = DEFAULT_MODEL

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}

    def get(self, path: str) -> str:
        """Return the body of an authorised GET."""
        request = urllib.request.Request(self.url + path, headers=self.headers)  # noqa: S310 (loopback)
        with urllib.request.urlopen(request, timeout=30) as reply:  # noqa: S310
            return reply.read().decode()

    def gauge(self, name: str) -> int:
        """Return a gauge of the first replica."""
        line = next(line for line in self.get("/metrics").splitlines() if line.startswith(f"spanreel_{name}{{"))
        return int(line.split()[-1])

    def wait_until_idle(self, timeout_s: float = 30) -> None:
        """Wait until no request runs or waits and every block is free."""
        end = time.monotonic() + timeout_s
        while self.gauge("running") or self.gauge("waiting") or self.gauge("kv_blocks_used"):
            assert time.monotonic() < end, self.get("/metrics")
            time.sleep(0.05)


def start_server(*arguments: str, stdin: int = subprocess.DEVNULL, module: str = "demo_engine") -> RunningServer:
    """Start a server and wait until it is ready; ``module`` may be a helper beside this file."""
    path = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    process = subprocess.Popen(
        [sys.executable, "-m", module, "serve", *arguments],
        env=os.environ | {"SPANREEL_TOKEN": TOKEN, "PYTHONPATH": path}, stdin=stdin, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    url = ""
    for line in process.stdout:
        if line.startswith("spanreel engine at "):
            url = line.removeprefix("spanreel engine at ").strip()
        if line.strip() == "ready":
            return RunningServer(url, process)
    process.wait()
    raise AssertionError(f"the server ended with {process.returncode} before it was ready")


def stop_server(server: RunningServer) -> int:
    """Ask the server to stop and return its exit code."""
    server.process.terminate()
    code = server.process.wait(20)
    server.process.stdout.close()
    return code


def chat_body(server: RunningServer, **fields) -> dict:
    """Return a short greedy chat request."""
    return {"model": server.model, "messages": QUESTION, "temperature": 0, "max_tokens": 12} | fields


def open_stream(server: RunningServer, body: dict, path: str = "/v1/chat/completions") -> socket.socket:
    """Send a request over a raw socket and return when the reply's first bytes are here."""
    host, port = server.url.removeprefix("http://").split(":")
    connection = socket.create_connection((host, int(port)))
    data = msgspec.json.encode(body)
    lines = [f"POST {path} HTTP/1.1", f"Host: {host}:{port}", f"Content-Length: {len(data)}"]
    lines += [f"{name}: {value}" for name, value in server.headers.items()]
    connection.sendall("\r\n".join([*lines, "", ""]).encode() + data)
    if body.get("stream"):
        connection.recv(1)
    return connection

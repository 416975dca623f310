"""The server and the client as child processes of an experiment."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec

from demo_engine.cli import TOKEN_VARIABLE
from demo_engine.client.records import RunPlan, RunResult
from demo_engine.core.config import EngineConfig
from demo_engine.errors import EngineError
from demo_engine.flags import arguments_for
from demo_engine.recorder.calibration import Calibration

STOP_GRACE_S = 10.0
_ADDRESS = "spanreel engine at "


@dataclass(frozen=True)
class Server:
    """A server that is ready."""

    url: str
    token: str = field(repr=False)


@contextlib.contextmanager
def running_server(model: str, config: EngineConfig, max_num_queued: int = 32) -> Iterator[Server]:
    """Start a server on a free port and wait until it is ready; stop it on leaving.

    Raises:
        EngineError: It ended before it was ready.
    """
    token = secrets.token_urlsafe(32)
    arguments = ["serve", "--port", "0", "--with-stdin", "--model", model, *arguments_for(config)]
    arguments += ["--max-num-queued", str(max_num_queued)]
    with _child(["demo_engine", *arguments], token) as process:
        url = ""
        for line in process.stdout or ():
            if line.startswith(_ADDRESS):
                url = line.removeprefix(_ADDRESS).strip()
            if line.strip() == "ready":
                break
        else:
            raise EngineError(f"the server ended before it was ready, with exit code {process.wait()}")
        yield Server(url, token)


class Client:
    """A client process that carries out runs one after the other."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(self, plan: RunPlan) -> RunResult:
        """Carry out one run.

        Raises:
            EngineError: The client failed; it has said why.
        """
        if self._process.stdin is None or self._process.stdout is None:
            raise EngineError("the client process has no pipes")
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(msgspec.json.encode(plan).decode() + "\n")
            self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise EngineError(f"the client ended during a run, with exit code {self._process.wait()}")
        return msgspec.json.decode(line, type=RunResult)


@contextlib.contextmanager
def running_client(server: Server, model_id: str) -> Iterator[Client]:
    """Start a client for a server; stop it on leaving."""
    with _child(["demo_engine.client", server.url, model_id], server.token) as process:
        yield Client(process)


def measure_calibration(num_threads: int, device: str) -> Calibration:
    """Calibrate in a process of its own, so that this one stays without torch.

    Raises:
        EngineError: The calibration failed.
    """
    command = [sys.executable, "-m", "demo_engine.runner.calibrate", str(num_threads), device]
    environment = os.environ | EngineConfig(num_threads=num_threads).environment
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise EngineError(f"the calibration ended with exit code {done.returncode}")
    return msgspec.json.decode(done.stdout, type=Calibration)


@contextlib.contextmanager
def _child(module_and_arguments: list[str], token: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", *module_and_arguments]
    environment = os.environ | {TOKEN_VARIABLE: token}
    process = subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
        start_new_session=True,  # Ctrl-C is for this process, which then stops its children in order
    )
    try:
        with process:
            try:
                yield process
            finally:
                _stop(process)
    except BrokenPipeError as error:
        raise EngineError(f"{module_and_arguments[0]} ended unexpectedly") from error


def _stop(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(STOP_GRACE_S)
    except subprocess.TimeoutExpired:
        process.kill()

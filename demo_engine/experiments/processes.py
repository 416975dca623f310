"""The server and the client as child processes of an experiment."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec

from demo_engine.cli import TOKEN_VARIABLE
from demo_engine.client.records import RunPlan, RunResult
from demo_engine.core.config import EngineConfig
from demo_engine.errors import EngineError
from demo_engine.flags import arguments_for
from demo_engine.network.config import EdgeAddress, EdgeConfig
from demo_engine.recorder.calibration import Calibration
from demo_engine.recorder.startup import STAMPS, Launch, StartStamps

STOP_GRACE_S = 10.0
_ADDRESS = "spanreel engine at "


@dataclass(frozen=True)
class Server:
    """A server that is ready."""

    url: str
    token: str = field(repr=False)
    pid: int = 0
    launch: Launch | None = None


def new_place() -> Server:
    """Return an address where no server is yet, so that a client can be started first."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return Server(f"http://127.0.0.1:{probe.getsockname()[1]}", secrets.token_urlsafe(32))


@contextlib.contextmanager
def running_server(
    model: str, config: EngineConfig, max_num_queued: int = 32, place: Server | None = None
) -> Iterator[Server]:
    """Start a server and wait until it is ready; stop it on leaving.

    Args:
        model: What it serves.
        config: Its engine's settings.
        max_num_queued: How many requests may wait.
        place: Where it is to be; None takes a free port.

    Raises:
        EngineError: It ended before it was ready.
    """
    token = secrets.token_urlsafe(32) if place is None else place.token
    port = "0" if place is None else place.url.rpartition(":")[2]
    arguments = ["serve", "--port", port, "--with-stdin", "--with-stamps", "--model", model, *arguments_for(config)]
    arguments += ["--max-num-queued", str(max_num_queued)]
    wall_ns, perf_ns = time.time_ns(), time.perf_counter_ns()
    with _child(["demo_engine", *arguments], token) as process:
        url, launch = "", None
        for line in process.stdout or ():
            if line.startswith(_ADDRESS):
                url = line.removeprefix(_ADDRESS).strip()
            if line.startswith(STAMPS):
                launch = Launch(wall_ns, perf_ns, msgspec.json.decode(line.removeprefix(STAMPS), type=StartStamps))
            if line.strip() == "ready":
                break
        else:
            raise EngineError(f"the server ended before it was ready, with exit code {process.wait()}")
        yield Server(url, token, process.pid, launch)


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
        try:
            return msgspec.json.decode(line, type=RunResult)
        except msgspec.DecodeError as error:
            raise EngineError(f"the client ended in the middle of its result: {error}") from error


@contextlib.contextmanager
def running_edge(server: Server, config: EdgeConfig) -> Iterator[EdgeAddress | None]:
    """Put before a server what the settings ask for, in a process of its own; yield where the way begins.

    Raises:
        EngineError: It could not be started; it has said why.
    """
    if config.is_direct:
        yield None
        return
    with _child(["demo_engine.network", server.url, *arguments_for(config)], server.token) as process:
        line = process.stdout.readline() if process.stdout else ""
        if not line:
            raise EngineError(f"the way to the server could not be made, exit code {process.wait()}")
        yield msgspec.json.decode(line, type=EdgeAddress)


@contextlib.contextmanager
def running_client(server: Server, model_id: str, edge: EdgeAddress | None = None) -> Iterator[Client]:
    """Start a client for a server, which it reaches by ``edge`` if given, and wait for it; stop it on leaving.

    The server need not be there yet.

    Raises:
        EngineError: It ended before it was ready.
    """
    way = [] if edge is None else [msgspec.json.encode(edge).decode()]
    with _child(["demo_engine.client", server.url, model_id, *way], server.token) as process:
        if process.stdout is None or not process.stdout.readline():
            raise EngineError(f"the client ended before it was ready, with exit code {process.wait()}")
        yield Client(process)


def measure_calibration(num_threads: int, device: str) -> Calibration:
    """Calibrate in a process of its own, so that this one stays without torch.

    Raises:
        EngineError: The calibration failed.
    """
    command = [sys.executable, "-m", "demo_engine.runner.calibrate", str(num_threads), device]
    environment = os.environ | EngineConfig(num_threads=num_threads).environment
    done = subprocess.run(
        command, env=environment, stdout=subprocess.PIPE, text=True, check=False,
        start_new_session=True,  # Ctrl-C is for this process, which then ends its child
    )  # fmt: skip
    if done.returncode != 0:
        raise EngineError(f"the calibration ended with exit code {done.returncode}")
    return msgspec.json.decode(done.stdout, type=Calibration)


@contextlib.contextmanager
def _child(module_and_arguments: list[str], token: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", *module_and_arguments]
    environment = os.environ | {TOKEN_VARIABLE: token}
    try:
        process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
            start_new_session=True,  # Ctrl-C is for this process, which then stops its children in order
        )
    except OSError as error:
        raise EngineError(f"{module_and_arguments[0]} could not be started: {error.strerror}") from error
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

"""The API process from start to end: listen, start the engine, serve, leave nothing behind."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import socket
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
from aiohttp import web

from demo_engine.api.app import make_app
from demo_engine.api.completions import Completions
from demo_engine.api.connection import Connection
from demo_engine.api.fleet import Fleet
from demo_engine.api.front_door import FrontDoor
from demo_engine.api.gateway.allowance import Limits
from demo_engine.api.gateway.keys import KeyEntry, KeyRing
from demo_engine.api.guard import Guard
from demo_engine.api.metrics import Metrics
from demo_engine.api.router import Router
from demo_engine.api.seats import Seats
from demo_engine.api.stopping import StopRequest, stop_requests
from demo_engine.api.tokenizer import PromptTokenizer
from demo_engine.console import say
from demo_engine.core.config import EngineConfig
from demo_engine.errors import UsageError
from demo_engine.recorder.startup import STAMPS, StartStamps
from demo_engine.weights import ModelFolder

CLEANUP_S = 2.0
MAX_REPLICAS = 8


@dataclass(frozen=True)
class ServeOptions:
    """What ``serve`` was asked for."""

    model: ModelFolder
    host: str
    port: int
    token: str = field(repr=False)
    config: EngineConfig = field(default_factory=EngineConfig)
    max_num_queued: int = 32
    max_prompt_bytes: int = 262_144
    drain_s: int = 5
    """How long requests may go on after the server was asked to stop."""
    vllm_metric_names: bool = False
    """Write the metrics under vLLM's names too."""
    keys: Sequence[KeyEntry] = ()
    """Other keys than the token."""
    with_stdin: bool = False
    """Stop when standard input closes, so that a server does not outlive the process that started it."""
    with_stamps: bool = False
    """Say when each part of the start was over, right before ``ready``."""


def serve(options: ServeOptions) -> int:
    """Serve until a signal asks to stop, and then until the open requests are over or their time is.

    Returns:
        The exit code: 1 if the engine was lost meanwhile, 130 or 143 if a second signal cut requests off.

    Raises:
        UsageError: The address is not this machine's own, the port is taken, or the replicas are too many.
        EngineError: The engine cannot load the model.
    """
    if options.host != "localhost" and not _is_loopback(options.host):
        raise UsageError(
            f"host {options.host!r} is reachable from outside, without encryption; "
            "keep 127.0.0.1 and use a tunnel: ssh -L PORT:127.0.0.1:PORT"
        )
    if options.config.replicas > MAX_REPLICAS:
        raise UsageError(f"--replicas {options.config.replicas}: one server runs at most {MAX_REPLICAS}")
    return asyncio.run(_serve(options))


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


async def _serve(options: ServeOptions) -> int:
    tokenizer = PromptTokenizer(options.model.path / "tokenizer.json")
    fleet = Fleet(options.model.path, options.config)
    metrics = Metrics(options.model.id, fleet.replicas, vllm_names=options.vllm_metric_names)
    config = options.config
    completions = Completions(
        options.model.id, tokenizer, Router(config, fleet.replicas), metrics, options.max_num_queued,
        options.max_prompt_bytes, config,
    )  # fmt: skip
    limits = Limits(config.requests_per_minute, config.tokens_per_minute, config.limit_burst_s)
    guard = Guard(KeyRing(options.token, options.keys, limits))
    app = make_app(guard, completions, metrics, fleet.replicas, options.model.id)
    runner = web.AppRunner(app, handler_cancellation=True, access_log=None, shutdown_timeout=CLEANUP_S)
    await runner.setup()
    loop = asyncio.get_running_loop()
    with stop_requests(loop, options.with_stdin) as stop:
        try:
            with listening(runner, guard, options.host, options.port) as port:
                host = f"[{options.host}]" if ":" in options.host else options.host
                say(f"spanreel engine at http://{host}:{port}")
                say(f"token {options.token}")
                await _until_stopped(fleet, stop, with_stamps=options.with_stamps)
                await _drain(completions.seats, stop, options.drain_s)
                exit_code = stop.exit_code if fleet.is_whole else 1
        finally:
            await fleet.stop()
            await runner.cleanup()
    return exit_code


@contextlib.contextmanager
def listening(runner: web.AppRunner, guard: Guard, host: str, port: int) -> Iterator[int]:
    """Accept connections while the block runs, and yield the port.

    Raises:
        UsageError: The port cannot be had.
    """
    server = runner.server
    assert server is not None  # noqa: S101 (the runner has been set up)
    loop = asyncio.get_running_loop()
    arriving: set[asyncio.Task[Any]] = set()

    def hand_on(connection: socket.socket) -> None:
        loop.call_soon_threadsafe(adopt, connection)

    def adopt(connection: socket.socket) -> None:
        task = loop.create_task(loop.connect_accepted_socket(lambda: Connection(server, loop), connection))
        arriving.add(task)
        task.add_done_callback(arriving.discard)

    try:
        door = FrontDoor(host, port, hand_on)
    except OSError as error:
        raise UsageError(f"port {port} on {host}: {error.strerror}; choose another --port") from error
    door.allow(guard.allow(door.port))
    door.start()
    try:
        yield door.port
    finally:
        door.close()


async def _until_stopped(fleet: Fleet, stop: StopRequest, *, with_stamps: bool) -> None:
    serving = asyncio.create_task(_keep_serving(fleet, with_stamps=with_stamps))
    stopping = asyncio.create_task(stop.made.wait())
    try:
        await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if not stop.made.is_set():
            serving.result()
            await stopping  # a lost engine that is not replaced: its requests are answered with 503
    finally:
        for task in (serving, stopping):
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task


async def _drain(seats: Seats, stop: StopRequest, drain_s: float) -> None:
    """Refuse new requests and wait until the open ones are over, but not longer than that, nor if asked again."""
    tasks = {asyncio.create_task(seats.close()), asyncio.create_task(stop.repeated.wait())}
    await asyncio.wait(tasks, timeout=drain_s, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        task.cancel()


async def _keep_serving(fleet: Fleet, *, with_stamps: bool) -> None:
    spawned_ns = time.perf_counter_ns()
    await fleet.start()
    loaded = fleet.replicas[0].ready
    if with_stamps and loaded is not None:
        stamps = StartStamps(spawned_ns, loaded.sent_ns - loaded.load_ns, loaded.sent_ns)
        say(f"{STAMPS}{msgspec.json.encode(stamps).decode()}")
    say("ready")
    await fleet.keep()

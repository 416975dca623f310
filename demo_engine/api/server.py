"""The API process from start to end: listen, start the engine, serve, leave nothing behind."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass, field

from aiohttp import web

from demo_engine.api.app import make_app
from demo_engine.api.completions import Completions
from demo_engine.api.connection import Connection
from demo_engine.api.guard import Guard
from demo_engine.api.replica import Replica
from demo_engine.api.tokenizer import PromptTokenizer
from demo_engine.console import say
from demo_engine.core.config import EngineConfig
from demo_engine.errors import UsageError
from demo_engine.weights import ModelFolder

DRAIN_S = 2.0
STDIN = 0


@dataclass(frozen=True)
class ServeOptions:
    """What ``serve`` was asked for."""

    model: ModelFolder
    host: str
    port: int
    token: str = field(repr=False)
    config: EngineConfig = field(default_factory=EngineConfig)
    max_num_queued: int = 32
    with_stdin: bool = False
    """Stop when standard input closes, so that a server does not outlive the process that started it."""


def serve(options: ServeOptions) -> int:
    """Serve until a signal asks to stop; returns the exit code, 1 if the engine was lost meanwhile.

    Raises:
        UsageError: The address is not this machine's own, or the port is taken.
        EngineError: The engine cannot load the model.
    """
    if options.host != "localhost" and not _is_loopback(options.host):
        raise UsageError(
            f"host {options.host!r} is reachable from outside, without encryption; "
            "keep 127.0.0.1 and use a tunnel: ssh -L PORT:127.0.0.1:PORT"
        )
    return asyncio.run(_serve(options))


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


async def _serve(options: ServeOptions) -> int:
    tokenizer = PromptTokenizer(options.model.path / "tokenizer.json")
    replica = Replica(options.model.path, options.config)
    completions = Completions(options.model.id, tokenizer, [replica], options.max_num_queued)
    guard = Guard(options.token)
    app = make_app(guard, completions, [replica], options.model.id)
    runner = web.AppRunner(app, handler_cancellation=True, access_log=None, shutdown_timeout=DRAIN_S)
    await runner.setup()
    loop = asyncio.get_running_loop()
    with _stop_requests(loop, options.with_stdin) as stop:
        try:
            listener = await _listen(runner, options)
            port = listener.sockets[0].getsockname()[1]
            guard.allow(port)
            host = f"[{options.host}]" if ":" in options.host else options.host
            say(f"spanreel engine at http://{host}:{port}")
            say(f"token {options.token}")
            await _until_stopped(replica, stop)
            exit_code = 0 if replica.lost is None else 1
            listener.close()
        finally:
            await replica.stop()
            await runner.cleanup()
    return exit_code


async def _listen(runner: web.AppRunner, options: ServeOptions) -> asyncio.Server:
    """Open the port with our own protocol."""
    server = runner.server
    assert server is not None  # noqa: S101 (set up just before)
    loop = asyncio.get_running_loop()
    try:
        return await loop.create_server(lambda: Connection(server, loop), options.host, options.port)
    except OSError as error:
        raise UsageError(f"port {options.port} on {options.host}: {error.strerror}; choose another --port") from error


async def _until_stopped(replica: Replica, stop: asyncio.Event) -> None:
    starting = asyncio.create_task(replica.start())
    stopping = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({starting, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if not stop.is_set():
            starting.result()
            say("ready")
            await stopping
    finally:
        for task in (starting, stopping):
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task


@contextlib.contextmanager
def _stop_requests(loop: asyncio.AbstractEventLoop, with_stdin: bool) -> Iterator[asyncio.Event]:
    """Yield an event that is set by a signal, or when standard input closes."""
    stop = asyncio.Event()

    def stdin_readable() -> None:
        if not os.read(STDIN, 4096):
            stop.set()
            loop.remove_reader(STDIN)

    if with_stdin:
        loop.add_reader(STDIN, stdin_readable)
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    try:
        yield stop
    finally:
        loop.remove_reader(STDIN)
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)

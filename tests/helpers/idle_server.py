"""A real server without engines behind it, and raw requests to it: who gets in is decided before anything else."""

from __future__ import annotations

import asyncio
import contextlib
from urllib.parse import urlsplit

from aiohttp import web

from demo_engine.api.app import make_app
from demo_engine.api.completions import Completions
from demo_engine.api.gateway.keys import KeyRing
from demo_engine.api.guard import Guard
from demo_engine.api.metrics import Metrics
from demo_engine.api.router import Router
from demo_engine.api.server import listening
from demo_engine.core.config import EngineConfig
from demo_engine.network.config import EdgeConfig
from demo_engine.network.edge import open_edge

TOKEN = "right-token"
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")


def make_idle_app(guard: Guard) -> web.Application:
    """Return the application without an engine behind it."""
    metrics = Metrics("m", [])
    config = EngineConfig()
    return make_app(guard, Completions("m", None, Router(config, []), metrics, 4, 1000, config), metrics, [], "m")


def registered_paths() -> list[str]:
    """Return every path that the application serves."""
    resources = make_idle_app(Guard(KeyRing(TOKEN))).router.resources()
    return sorted({resource.canonical.format(model="m", request_id="x") for resource in resources})


def on_server(check, keys: KeyRing | None = None):
    """Run ``check(port)`` against a server without replicas."""

    async def main():
        guard = Guard(keys or KeyRing(TOKEN))
        runner = web.AppRunner(make_idle_app(guard), handler_cancellation=True)
        await runner.setup()
        try:
            with listening(runner, guard, "127.0.0.1", 0) as port:
                return await check(port)
        finally:
            await runner.cleanup()

    return asyncio.run(main())


@contextlib.asynccontextmanager
async def edge_port(port: int, config: EdgeConfig):
    """Put something before a server and yield the port where its way begins."""
    async with open_edge(f"http://127.0.0.1:{port}", config) as address:
        yield urlsplit(address.url).port


async def ask(port: int, method: str, path: str, headers: list[str]) -> int:
    """Send raw lines and return the status, or 0 if the server closed without an answer."""
    lines = [f"{method} {path} HTTP/1.1", *headers, "Connection: close", "Content-Length: 0", "", ""]
    async with connected(port) as (reader, writer):
        try:
            writer.write("\r\n".join(lines).encode("latin-1"))
            reply = await reader.read()
        except ConnectionError:
            return 0
    return int(reply.split(b" ", 2)[1]) if reply else 0


@contextlib.asynccontextmanager
async def connected(port: int):
    """Yield a connection's two ends, and close it."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield reader, writer
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()

"""Link and proxy put together: client, link, proxy, server, each only if asked for."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

from aiohttp import web
from yarl import URL

from demo_engine.api.connection import Connection
from demo_engine.errors import UsageError
from demo_engine.network.config import EdgeAddress, EdgeConfig
from demo_engine.network.link import Link
from demo_engine.network.proxy import Proxy
from demo_engine.network.tls import server_context


@contextlib.asynccontextmanager
async def open_edge(url: str, config: EdgeConfig) -> AsyncIterator[EdgeAddress]:
    """Put before a server what the settings ask for, and yield where the way begins.

    Raises:
        UsageError: The server's address names no host and port.
        EnvironmentLackError: A certificate is wanted and cannot be made.
    """
    async with contextlib.AsyncExitStack() as stack:
        if config.proxy != "none":
            url = await stack.enter_async_context(_proxy(url, is_buffering=config.proxy == "buffer"))
        certificate = None
        if config.has_link:
            context = None
            if config.link_tls:
                folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="spanreel-link-")))
                context, certificate = server_context(folder)
            upstream = URL(url)
            if upstream.host is None or upstream.port is None:
                raise UsageError(f"{url!r} is no address; give one such as http://127.0.0.1:8000")
            link = Link(upstream.host, upstream.port, config, context)
            url = f"{'https' if config.link_tls else 'http'}://127.0.0.1:{await link.start()}"
            stack.push_async_callback(link.stop)
        yield EdgeAddress(url, None if certificate is None else str(certificate), config)


@contextlib.asynccontextmanager
async def _proxy(url: str, *, is_buffering: bool) -> AsyncIterator[str]:
    runner = web.AppRunner(
        Proxy(url, is_buffering=is_buffering).app(), handler_cancellation=True, access_log=None, shutdown_timeout=1.0
    )
    await runner.setup()
    server = runner.server
    assert server is not None  # noqa: S101 (the runner has been set up)
    loop = asyncio.get_running_loop()
    listener = await loop.create_server(lambda: Connection(server, loop), "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    finally:
        listener.close()
        await runner.cleanup()

"""An emulated link: a user-space proxy that carries bytes both ways, late and no faster than asked for.

TCP's own handshake is not delayed, because the kernel completes it at once, before this process hears of the
connection; a picture of a new connection must not show it as a round trip of this link. The round trip of TLS 1.3
travels on the link and is delayed. A piece may be up to a millisecond later than asked for, which is how finely the
event loop sleeps; spans across the link are measured and include that.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Callable, Coroutine

from demo_engine.network.config import EdgeConfig
from demo_engine.network.tls import FarEnd, PlainEnd, TlsEnd
from demo_engine.network.wire import Pace, Wire

MAX_CONNECTIONS = 64
READ_BYTES = 65_536


class Link:
    """Listens on a loopback port and carries each connection to the server.

    Args:
        host: The server's address.
        port: Its port.
        config: The link's delay and bandwidth.
        context: With it the link's far end speaks TLS.
    """

    def __init__(self, host: str, port: int, config: EdgeConfig, context: ssl.SSLContext | None = None) -> None:
        self._upstream = host, port
        self._config = config
        self._make_end: Callable[[], FarEnd] = PlainEnd if context is None else lambda: TlsEnd(context)
        self._open: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def start(self) -> int:
        """Listen; return the port."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def stop(self) -> None:
        """Stop listening, and drop what is open."""
        if self._server is not None:
            self._server.close()
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    def _accept(self, client_reader: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        if len(self._open) >= MAX_CONNECTIONS:
            client.transport.abort()
            return
        task = asyncio.create_task(self._connect(client_reader, client))
        self._open.add(task)
        task.add_done_callback(self._open.discard)

    async def _connect(self, client_reader: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        try:
            server_reader, server = await asyncio.open_connection(*self._upstream)
            try:
                await self._carry(client_reader, client, server_reader, server)
            finally:
                server.close()
        except OSError:
            client.transport.abort()  # one side is gone, or did not speak TLS: the other one learns of it
        finally:
            client.close()

    async def _carry(
        self,
        client_reader: asyncio.StreamReader,
        client: asyncio.StreamWriter,
        server_reader: asyncio.StreamReader,
        server: asyncio.StreamWriter,
    ) -> None:
        end = self._make_end()

        async def at_client(data: bytes) -> None:
            client.write(data)
            await client.drain()

        async def at_far_end(data: bytes) -> None:
            if not data:
                server.write_eof()
                return
            received = end.receive(data)
            await down.send(received.answer)
            server.write(received.plain)
            await server.drain()

        async def read_server() -> None:
            while data := await server_reader.read(READ_BYTES):
                await down.send(end.wrap(data))
            await down.send(end.close())
            await down.end()

        async def read_client() -> None:
            with contextlib.suppress(ConnectionError):
                while data := await client_reader.read(READ_BYTES):
                    await up.send(data)
            await up.end()

        up, down = Wire(self._pace(), at_far_end), Wire(self._pace(), at_client)
        await _until_over(down.run(), up.run(), read_client(), read_server())

    def _pace(self) -> Pace:
        return Pace(self._config.link_delay_ms / 1e3, self._config.link_kbit_per_s * 1e3)


async def _until_over(main: Coroutine[None, None, None], *others: Coroutine[None, None, None]) -> None:
    """Run all until ``main`` has ended or one of them has failed; the failure is raised."""
    main_task = asyncio.create_task(main)
    tasks = {main_task, *(asyncio.create_task(other) for other in others)}
    pending = set(tasks)
    try:
        while main_task in pending:
            done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

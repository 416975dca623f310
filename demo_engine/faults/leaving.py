"""Clients that leave, at any byte and in any way, and clients that stay and do not read."""

from __future__ import annotations

import asyncio
import contextlib
import random
import socket
import struct
from collections.abc import Iterator
from typing import Any

import msgspec

from demo_engine.api.connection import READ_DEADLINE_S
from demo_engine.experiments.processes import Server, running_edge
from demo_engine.faults.asking import COMPLETIONS, ENDLESS, ask, completion
from demo_engine.faults.findings import Findings
from demo_engine.faults.subject import Subject, subject, until
from demo_engine.network.config import EdgeConfig

AT_ONCE = 12
MOST_BYTES, MOST_WAIT_S = 3000, 0.3
IDLE_MS = 1000
NEIGHBOUR_TOKENS = 60
LOGPROBS = 20
"""Make each event of a reply long, so that it soon fills what is not read."""
UNREAD_TOKENS = 250
RECEIVE_BUFFER_BYTES = 4096
_RESET = struct.pack("ii", 1, 0)


async def leaving(model: str, size: int) -> Findings:
    """Leave at random instants, streamed or not, closing or resetting the connection."""
    async with subject(model) as server:
        return await _leave(server, size, server.host)


async def leaving_by_proxy(model: str, size: int) -> Findings:
    """The same with two replicas and through a proxy that holds replies, which hides the client from the server."""
    async with subject(model, "--replicas=2") as server:
        with running_edge(Server(server.url, server.token), EdgeConfig(proxy="buffer")) as edge:
            way = server.url if edge is None else edge.url
            return await _leave(server, size, way.removeprefix("http://"))


async def not_reading(model: str, size: int) -> Findings:
    """Let clients ask for much and read none of it, beside one that reads: they lose their connections in time."""
    findings = Findings()
    settings = [f"--max-num-seqs={size}", "--max-num-queued=1"]
    async with subject(model, *settings) as server:
        with contextlib.ExitStack() as held:
            body = completion(server, UNREAD_TOKENS, logprobs=LOGPROBS)
            silent = [held.enter_context(_silent_client(server, body)) for _ in range(size)]
            neighbour = await ask(server, completion(server, NEIGHBOUR_TOKENS))
            await until(server.is_idle)
            await asyncio.sleep(READ_DEADLINE_S + 1)
            num_cut = sum([await asyncio.to_thread(_was_cut_off, connection) for connection in silent])
        again = await asyncio.gather(*(ask(server, completion(server, 4)) for _ in range(size + 1)))
        num_served = sum(reply.ending == "finished" for reply in again)
        findings.seen = f"neighbour {neighbour.ending}; {num_cut} cut off; then {num_served} served at once"
        findings.require(neighbour.ending == "finished", f"a neighbour: {neighbour.ending}")
        findings.require(num_cut == size, "a connection that nobody reads is still open")
        findings.require(num_served == size + 1, "a place is still taken")
        await server.check_whole(findings)
    return findings


async def _leave(server: Subject, size: int, host: str) -> Findings:
    findings = Findings()
    choose = random.Random(size)  # noqa: S311 (no secret)
    neighbour = asyncio.create_task(ask(server, completion(server, NEIGHBOUR_TOKENS)))
    turns = asyncio.Semaphore(AT_ONCE)
    async with asyncio.TaskGroup() as group:
        for _ in range(size):
            group.create_task(_leave_once(server, host, choose, turns))
    ending = (await neighbour).ending
    idle_ms = await until(server.is_idle)
    num_cancelled = await server.metric("spanreel_requests_total", 'finish_reason="cancelled"')
    findings.seen = f"neighbour {ending}; {num_cancelled:.0f} cancelled; all free after {idle_ms:.0f} ms"
    findings.require(ending == "finished", f"a neighbour: {ending}")
    findings.require(num_cancelled > 0, "nobody was noticed to leave")
    findings.within("until all was free", idle_ms, IDLE_MS)
    await server.check_whole(findings)
    return findings


async def _leave_once(server: Subject, host: str, choose: random.Random, turns: asyncio.Semaphore) -> None:
    is_stream, is_reset = choose.random() < 0.5, choose.random() < 0.5
    num_bytes, wait_s = choose.randrange(MOST_BYTES), choose.uniform(0, MOST_WAIT_S)
    address, _, port = host.rpartition(":")
    async with turns:
        reader, writer = await asyncio.open_connection(address, int(port))
        writer.write(_request(server, completion(server, ENDLESS, stream=is_stream)))
        with contextlib.suppress(TimeoutError, asyncio.IncompleteReadError, ConnectionError):
            async with asyncio.timeout(wait_s):
                await reader.readexactly(num_bytes)
        if is_reset:
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


@contextlib.contextmanager
def _silent_client(server: Subject, body: dict[str, Any]) -> Iterator[socket.socket]:
    """Yield a connection with little room on which a request was sent."""
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER_BYTES)
        address, _, port = server.host.rpartition(":")
        connection.connect((address, int(port)))
        connection.sendall(_request(server, body))
        yield connection


def _was_cut_off(connection: socket.socket) -> bool:
    """Read what there is, and tell whether it ends before the reply does."""
    connection.settimeout(READ_DEADLINE_S)
    data = b""
    try:
        while piece := connection.recv(65_536):
            data += piece
    except TimeoutError:
        return False
    except ConnectionError:
        pass
    return b"[DONE]" not in data


def _request(server: Subject, body: dict[str, Any]) -> bytes:
    data = msgspec.json.encode(body)
    lines = [f"POST {COMPLETIONS} HTTP/1.1", *(f"{name}: {value}" for name, value in server.headers.items())]
    return "\r\n".join([*lines, f"Content-Length: {len(data)}", "Connection: close", "", ""]).encode() + data

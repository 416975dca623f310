"""The server that faults are made for: started, probed all the while, and found whole at the end."""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import secrets
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp

from demo_engine.cli import TOKEN_VARIABLE
from demo_engine.errors import EngineError
from demo_engine.faults.findings import Findings, percentile
from demo_engine.faults.probes import Probes
from demo_engine.weights import open_model

SERVER_MODULE = "demo_engine"
PATIENCE_S = 60.0
"""How long to wait for what must come."""
SILENCE_S = 300.0
"""After how long without a byte a reply is given up; a request may stand in a long queue."""
HEALTH_P99_MS = 50
_ADDRESS = "spanreel engine at "
_LOOK_S = 0.02


@dataclass
class Subject:
    """A running server."""

    process: asyncio.subprocess.Process
    url: str
    token: str = field(repr=False)
    model_id: str
    session: aiohttp.ClientSession
    probes: Probes

    @property
    def headers(self) -> dict[str, str]:
        """What every request to it carries, by whatever way it goes."""
        return {"Authorization": f"Bearer {self.token}", "Host": self.host, "Content-Type": "application/json"}

    @property
    def host(self) -> str:
        """Its host and port."""
        return urlsplit(self.url).netloc

    def engine_pids(self) -> list[int]:
        """Return its engine processes."""
        pid = self.process.pid
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]

    async def metric(self, name: str, label: str = "") -> float:
        """Return the sum of a metric's lines, or of those that have a label."""
        async with self.session.get(f"{self.url}/metrics", headers=self.headers) as response:
            lines = (await response.text()).splitlines()
        return sum(
            float(line.split()[-1]) for line in lines if line.startswith((f"{name} ", f"{name}{{")) and label in line
        )

    async def is_ready(self) -> bool:
        """Tell what ``/readyz`` says; a server that is gone is not ready."""
        try:
            async with self.session.get(f"{self.url}/readyz", headers=self.headers) as response:
                return response.status == 200
        except aiohttp.ClientError:
            return False

    async def is_not_ready(self) -> bool:
        """Tell the contrary."""
        return not await self.is_ready()

    async def is_idle(self) -> bool:
        """Tell whether no request runs or waits and every block is free."""
        return not sum([await self.metric(f"spanreel_{name}") for name in ("running", "waiting", "kv_blocks_used")])

    async def check_whole(self, findings: Findings) -> None:
        """Note what must hold after every fault: the same process, idle, all blocks free, health probes answered."""
        findings.require(self.process.returncode is None, "the server has ended")
        idle_ms = await until(self.is_idle)
        findings.require(idle_ms < math.inf, "requests or blocks were left behind")
        findings.seen += f"; health p99 {self.check_health(findings):.0f} ms of {len(self.probes.times_ms)}"

    def check_health(self, findings: Findings) -> float:
        """Note probes that were not answered, or late; return how long nearly all took, in ms, and probe no more."""
        self.probes.stop()
        findings.require(not self.probes.num_failed, f"{self.probes.num_failed} health probes failed")
        p99_ms = percentile(self.probes.times_ms, 0.99)
        findings.within("health p99", p99_ms, HEALTH_P99_MS)
        return p99_ms

    async def stop(self) -> int:
        """Ask it to stop and return its exit code."""
        self.process.terminate()
        return await asyncio.wait_for(self.process.wait(), PATIENCE_S)


async def until(holds: Callable[[], Awaitable[bool]]) -> float:
    """Wait until something holds; return how long that took, in ms, infinite if it did not come in ``PATIENCE_S``."""
    start_s = time.perf_counter()
    while not await holds():
        if time.perf_counter() - start_s > PATIENCE_S:
            return math.inf
        await asyncio.sleep(_LOOK_S)
    return (time.perf_counter() - start_s) * 1000


@contextlib.asynccontextmanager
async def subject(model: str, *settings: str) -> AsyncIterator[Subject]:
    """Start a server and wait until it is ready; it is gone on leaving, and when this process ends.

    Raises:
        EngineError: It ended before it was ready.
    """
    token = secrets.token_urlsafe(32)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", SERVER_MODULE, "serve", "--with-stdin", "--model", model, *settings,
        env=os.environ | {TOKEN_VARIABLE: token}, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        url = await _address(process)
        connector = aiohttp.TCPConnector(limit=0, force_close=True)
        timeout = aiohttp.ClientTimeout(total=None, sock_read=SILENCE_S)
        async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session:
            with Probes(urlsplit(url).netloc) as probes:
                yield Subject(process, url, token, open_model(model).id, session, probes)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def _address(process: asyncio.subprocess.Process) -> str:
    url = ""
    while process.stdout is not None and (line := await process.stdout.readline()):
        text = line.decode().strip()
        if text.startswith(_ADDRESS):
            url = text.removeprefix(_ADDRESS)
        if text == "ready":
            return url
    raise EngineError(f"the server ended before it was ready, with exit code {await process.wait()}")

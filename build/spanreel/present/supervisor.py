"""Keeps an engine running: starts it, listens to its heart, replaces it when it is dead.

Dead is not slow. Dead means that the process is gone or does not answer its readiness probe for a second, which the
engine answers however long a step takes. A long prefill or queue is healthy.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import aiohttp

from spanreel.present.client import Engine
from spanreel.present.engine import EngineProcess
from spanreel.present.events import StateEvent
from spanreel.present.machine import model_label

SILENCE_S = 1.0
_BEAT_S = 0.2
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.5, 15.0


class Supervisor:
    """Owns the engine's process and knows the state that pages are told.

    Args:
        command: Starts an engine; it prints its address, then ``ready``.
        machine: This machine's label.
        tell: Called with each new state.
    """

    def __init__(self, command: Sequence[str], machine: str, tell: Callable[[StateEvent], None]) -> None:
        self.engine: Engine | None = None
        """The engine that answers now."""
        self._command = command
        self._machine = machine
        self._tell = tell

    async def run(self) -> None:
        """Keep an engine running until cancelled; none is left then."""
        pause_s = _FIRST_PAUSE_S
        while True:
            was_ready = await self._one_life()
            pause_s = _FIRST_PAUSE_S if was_ready else min(2 * pause_s, _LONGEST_PAUSE_S)
            await asyncio.sleep(pause_s)

    async def _one_life(self) -> bool:
        """Start an engine and stay with it to its end; returns whether it was ever ready."""
        self._tell(StateEvent("starting", "engine is starting"))
        process = await EngineProcess.start(self._command)
        ended = asyncio.create_task(process.ended())
        life = asyncio.create_task(self._live(process))
        dead = False
        try:
            await asyncio.wait({ended, life}, return_when=asyncio.FIRST_COMPLETED)
            reason = life.result() if life.done() else ended.result()
            dead, was_ready = True, self.engine is not None
            self.engine = None
            self._tell(StateEvent("replay", reason))
            return was_ready
        finally:
            self.engine = None
            for task in (ended, life):
                task.cancel()
            await _to_its_end(process.stop(at_once=dead))

    async def _live(self, process: EngineProcess) -> str:
        """Wait until an engine is ready, then until its heart stops; returns why it counts as dead."""
        await process.ready.wait()
        timeout = aiohttp.ClientTimeout(total=SILENCE_S)
        async with aiohttp.ClientSession(timeout=timeout) as session:
            try:
                model = await _model(session, process)
            except (aiohttp.ClientError, TimeoutError, LookupError, ValueError):
                return "engine has no model"
            self.engine = Engine(process.url, process.token, model)
            self._tell(StateEvent("live", "", self._machine, model_label(model)))
            heard_s = time.monotonic()
            while time.monotonic() - heard_s < SILENCE_S:
                if await _answers(session, process.url):
                    heard_s = time.monotonic()
                await asyncio.sleep(_BEAT_S)
        return "engine is silent"


async def _to_its_end(work: Coroutine[Any, Any, None]) -> None:
    """Carry work out even if we are cancelled meanwhile; the cancellation comes after it."""
    task = asyncio.create_task(work)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await task
        raise


async def _model(session: aiohttp.ClientSession, process: EngineProcess) -> str:
    headers = {"Authorization": f"Bearer {process.token}"}
    async with session.get(f"{process.url}/v1/models", headers=headers) as response:
        return str((await response.json())["data"][0]["id"])


async def _answers(session: aiohttp.ClientSession, url: str) -> bool:
    with contextlib.suppress(aiohttp.ClientError, TimeoutError):
        async with session.get(f"{url}/readyz") as response:
            return response.status == 200
    return False

"""The engine as a child process."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from typing import Self

from spanreel.present.keeper import GRACE_S

TOKEN_VARIABLE = "SPANREEL_TOKEN"  # noqa: S105 (the variable's name, not a token)
_ADDRESS = "spanreel engine at "
_READY = "ready"
_ERROR = "error: "


def engine_command() -> list[str]:
    """Return the command that serves the model on a free port, and leaves one core to the slides."""
    num_threads = max(1, num_cores() - 1)
    return [sys.executable, "-m", "demo_engine", "serve", "--port=0", f"--threads={num_threads}"]


def num_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class EngineProcess:
    """A running engine. Its token travels in the environment, where no process list shows it."""

    def __init__(self, process: asyncio.subprocess.Process, token: str) -> None:
        self.token = token
        self.url = ""
        self.ready = asyncio.Event()
        self._process = process
        self._last_error = ""
        self._readers = [
            asyncio.create_task(self._read_output(process.stdout)),
            asyncio.create_task(self._read_errors(process.stderr)),
        ]

    @classmethod
    async def start(cls, command: Sequence[str]) -> Self:
        """Start an engine under a keeper, in a process group of its own, out of reach of the terminal's Ctrl-C."""
        token = secrets.token_urlsafe(32)
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "spanreel.present.keeper", *command,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            env=os.environ | {TOKEN_VARIABLE: token}, start_new_session=True,
        )  # fmt: skip
        return cls(process, token)

    async def ended(self) -> str:
        """Wait until the process is gone and return why, in a few words."""
        code = await self._process.wait()
        await asyncio.wait(self._readers)
        return self._last_error or f"engine ended with {code}"

    async def stop(self, *, at_once: bool = False) -> None:
        """End the process and wait for it; nothing that it started is left.

        Args:
            at_once: Do not wait for it to tidy up: it does not answer.
        """
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            if not at_once:
                async with asyncio.timeout(GRACE_S + 1):
                    await self._process.wait()
        except TimeoutError:
            pass  # it has had its time
        finally:  # also when we are being cancelled
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        await self._process.wait()
        await asyncio.wait(self._readers, timeout=1)

    async def _read_output(self, stream: asyncio.StreamReader | None) -> None:
        async for line in _lines(stream):
            if line.startswith(_ADDRESS):
                self.url = line.removeprefix(_ADDRESS)
            elif line == _READY:
                self.ready.set()

    async def _read_errors(self, stream: asyncio.StreamReader | None) -> None:
        async for line in _lines(stream):
            if line.startswith(_ERROR):
                self._last_error = line.removeprefix(_ERROR)


async def _lines(stream: asyncio.StreamReader | None) -> AsyncIterator[str]:
    while stream is not None:
        try:
            data = await stream.readline()
        except ValueError:  # longer than any line that means something
            continue
        if not data:
            return
        if line := data.decode(errors="replace").strip():
            yield line

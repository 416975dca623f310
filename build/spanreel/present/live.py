"""The live demo of one request: who may start it, and that everybody hears of it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping

import aiohttp
import msgspec

from spanreel.present.client import Engine, Question, ask
from spanreel.present.events import FailedEvent, StartEvent, StateEvent
from spanreel.present.hub import Hub
from spanreel.present.reply import ReplyError
from traces.schema import SpanType

STOPPED = "stopped"


class LiveDemo:
    """Runs the request, one at a time, and remembers the state of things for pages that come later.

    Args:
        question: What is asked.
        span_types: The lanes and kinds of the engine's spans, by name.
        state: What pages are told until something else is known.
    """

    def __init__(self, question: Question, span_types: Mapping[str, SpanType], state: StateEvent) -> None:
        self.hub = Hub()
        self.state = state
        self._question = question
        self._span_types = span_types
        self._run: asyncio.Task[None] | None = None
        self._run_number = 0

    def set_state(self, state: StateEvent) -> None:
        """Tell every page; a run cannot outlive its engine."""
        self.state = state
        self.hub.send(state)
        if state.state != "live":
            self.stop(state.reason)

    def start(self, engine: Engine) -> int | None:
        """Start a run and return its number, or None if one is under way."""
        if self._run is not None and not self._run.done():
            return None
        self._run_number += 1
        self._run = asyncio.create_task(self._carry_out(engine, self._run_number))
        return self._run_number

    def stop(self, reason: str = STOPPED) -> None:
        """End the run that is under way, if any; the engine drops the request with its connection."""
        if self._run is not None and not self._run.done():
            self._run.cancel(reason)

    async def close(self) -> None:
        """End the run and every page's stream."""
        self.stop()
        if self._run is not None:
            with contextlib.suppress(asyncio.CancelledError):
                await self._run
        self.hub.close()

    async def _carry_out(self, engine: Engine, number: int) -> None:
        self.hub.send(StartEvent(number))
        try:
            async for event in ask(engine, self._question, self._span_types):
                self.hub.send(msgspec.structs.replace(event, run=number))
        except ReplyError as error:
            self.hub.send(FailedEvent(str(error), number))
        except (aiohttp.ClientError, TimeoutError):
            self.hub.send(FailedEvent("engine broke off", number))
        except asyncio.CancelledError as error:
            self.hub.send(FailedEvent(str(error) or STOPPED, number))
            raise

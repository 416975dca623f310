"""From one source of events to every page that listens."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from spanreel.present.events import Event, sse

_MAX_BEHIND = 2_000


class Hub:
    """Passes each event on to all listeners; one that falls too far behind is cut off."""

    def __init__(self) -> None:
        self._listeners: set[Listener] = set()

    @contextmanager
    def listener(self) -> Iterator[Listener]:
        """Listen for as long as the context lasts."""
        listener = Listener()
        self._listeners.add(listener)
        try:
            yield listener
        finally:
            self._listeners.discard(listener)

    def send(self, event: Event) -> None:
        """Pass an event on."""
        data = sse(event)
        for listener in list(self._listeners):
            listener.offer(data)

    def close(self) -> None:
        """End every listener's stream."""
        for listener in list(self._listeners):
            listener.close()


class Listener:
    """One page's events that have not been written yet."""

    def __init__(self) -> None:
        self._events: asyncio.Queue[bytes | None] = asyncio.Queue(_MAX_BEHIND)

    def offer(self, data: bytes) -> None:
        """Take an event, or close if too many wait already."""
        if self._events.qsize() >= _MAX_BEHIND - 1:
            self.close()
        else:
            self._events.put_nowait(data)

    def close(self) -> None:
        """Let the stream end after what waits."""
        if not self._events.full():
            self._events.put_nowait(None)

    async def next(self, within_s: float) -> bytes | None:
        """Return the next event, or None when the stream is over.

        Raises:
            TimeoutError: Nothing came in time.
        """
        return await asyncio.wait_for(self._events.get(), within_s)

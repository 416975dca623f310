"""Places for requests: how many may be open at once, and none any more when the server is about to stop."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from demo_engine.api.errors import ApiError

RETRY_S = 1
RESTART_S = 5
"""After how long a server that is stopping may be there again."""


class Seats:
    """Counts the requests that are being answered.

    Args:
        num_seats: Most of them at once.
    """

    def __init__(self, num_seats: int) -> None:
        self.is_closed = False
        self._num_seats = num_seats
        self._num_taken = 0
        self._is_empty = asyncio.Event()
        self._is_empty.set()

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Hold a seat.

        Raises:
            ApiError: All are taken (429), or there are none any more (503).
        """
        if self.is_closed:
            raise ApiError(503, "the server is shutting down", code="shutting_down", retry_s=RESTART_S)
        if self._num_taken >= self._num_seats:
            raise ApiError(429, f"{self._num_taken} requests are waiting already", code="queue_full", retry_s=RETRY_S)
        self._num_taken += 1
        self._is_empty.clear()
        try:
            yield
        finally:
            self._num_taken -= 1
            if not self._num_taken:
                self._is_empty.set()

    async def close(self) -> None:
        """Give no more seats away, and wait until those that are taken are free."""
        self.is_closed = True
        await self._is_empty.wait()

"""One direction of an emulated link."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

SEGMENT_BYTES = 1460
"""What travels in one piece: the payload of an Ethernet frame."""
MAX_SEGMENTS = 256
"""How much may be on the way; a sender that is faster waits, as it would for a full TCP window."""


class Pace:
    """When bytes arrive: each piece leaves when those before it have left, and then flies for the delay.

    Args:
        delay_s: One-way delay.
        bits_per_s: Bandwidth; 0: unlimited.
    """

    def __init__(self, delay_s: float, bits_per_s: float) -> None:
        self._delay_s = delay_s
        self._s_per_byte = 8 / bits_per_s if bits_per_s else 0.0
        self._free_s = 0.0

    def arrival_s(self, num_bytes: int, now_s: float) -> float:
        """Return when the last bit arrives of a piece that is sent now."""
        self._free_s = max(self._free_s, now_s) + num_bytes * self._s_per_byte
        return self._free_s + self._delay_s


class Wire:
    """Bytes go in at one end and come out at the other, in order and as late as the pace says."""

    def __init__(self, pace: Pace, deliver: Callable[[bytes], Awaitable[None]]) -> None:
        self._pace = pace
        self._deliver = deliver
        self._pieces: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(MAX_SEGMENTS)
        self._turn = asyncio.Lock()

    async def send(self, data: bytes) -> None:
        """Put bytes on the wire; waits while it is full."""
        async with self._turn:
            for start in range(0, len(data), SEGMENT_BYTES):
                await self._put(data[start : start + SEGMENT_BYTES])

    async def end(self) -> None:
        """Put the end of the stream on the wire."""
        async with self._turn:
            await self._put(b"")

    async def run(self) -> None:
        """Deliver until the end has been; it is delivered too, as no bytes."""
        loop = asyncio.get_running_loop()
        data = b"-"
        while data:
            arrival_s, data = await self._pieces.get()
            await asyncio.sleep(max(0.0, arrival_s - loop.time()))
            await self._deliver(data)

    async def _put(self, piece: bytes) -> None:
        arrival_s = self._pace.arrival_s(len(piece), asyncio.get_running_loop().time())
        await self._pieces.put((arrival_s, piece))

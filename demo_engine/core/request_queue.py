"""The requests that wait, in the order in which they will be served."""

from __future__ import annotations

import heapq
from collections.abc import Iterator

from demo_engine.core.request import EngineRequest


class RequestQueue:
    """A queue by rank. A preempted request keeps its rank and so comes back to its old place, not to the end."""

    def __init__(self) -> None:
        self._ranks: list[tuple[int, int]] = []  # a heap; ranks of cancelled requests stay in it until they come up
        self._requests: dict[tuple[int, int], EngineRequest] = {}

    def __len__(self) -> int:
        return len(self._requests)

    def __iter__(self) -> Iterator[EngineRequest]:
        """Iterate in the order of service."""
        return (self._requests[rank] for rank in sorted(self._requests))

    def push(self, request: EngineRequest) -> None:
        """Add a request."""
        self._requests[request.rank] = request
        heapq.heappush(self._ranks, request.rank)

    def first(self) -> EngineRequest:
        """Return the request that is served next; there must be one."""
        while self._ranks[0] not in self._requests:
            heapq.heappop(self._ranks)
        return self._requests[self._ranks[0]]

    def pop(self) -> EngineRequest:
        """Take out the request that is served next; there must be one."""
        request = self.first()
        heapq.heappop(self._ranks)
        del self._requests[request.rank]
        return request

    def remove(self, request: EngineRequest) -> None:
        """Take out a request that is in the queue."""
        del self._requests[request.rank]

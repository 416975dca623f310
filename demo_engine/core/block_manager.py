"""Who owns which block of the KV cache."""

from __future__ import annotations

from demo_engine.core.request import EngineRequest


class BlockManager:
    """Hands out fixed-size blocks from one pool; taking and returning a block is O(1).

    Blocks are reference-counted: a block is free when nobody holds it.
    """

    def __init__(self, num_blocks: int, block_size: int) -> None:
        self.num_blocks = num_blocks
        self.block_size = block_size
        self._free = list(range(num_blocks - 1, -1, -1))  # a stack: the block freed last is still in the CPU's cache
        self._ref_counts = [0] * num_blocks

    @property
    def num_free(self) -> int:
        """Blocks that nobody holds."""
        return len(self._free)

    @property
    def num_used(self) -> int:
        """Blocks that somebody holds."""
        return self.num_blocks - len(self._free)

    def num_missing(self, request: EngineRequest, num_tokens: int) -> int:
        """Return how many more blocks the request needs to hold ``num_tokens`` tokens."""
        return max(0, -(-num_tokens // self.block_size) - len(request.block_ids))

    def allocate(self, request: EngineRequest, num_tokens: int) -> bool:
        """Give the request blocks for ``num_tokens`` tokens in all, or nothing.

        Returns:
            Whether there were enough.
        """
        num_missing = self.num_missing(request, num_tokens)
        if num_missing > len(self._free):
            return False
        for _ in range(num_missing):
            block = self._free.pop()
            self._ref_counts[block] = 1
            request.block_ids.append(block)
        return True

    def free(self, request: EngineRequest) -> None:
        """Take back all blocks of the request."""
        for block in reversed(request.block_ids):
            self._ref_counts[block] -= 1
            if self._ref_counts[block] == 0:
                self._free.append(block)
        request.block_ids.clear()

    def check_integrity(self, requests: list[EngineRequest]) -> None:
        """Hold the pool against the block tables of every request that may own blocks.

        Raises:
            RuntimeError: A block is lost, free and held at once, or held more often than it is counted.
        """
        holders = [0] * self.num_blocks
        for request in requests:
            for block in request.block_ids:
                holders[block] += 1
        if holders != self._ref_counts:
            wrong = [i for i in range(self.num_blocks) if holders[i] != self._ref_counts[i]]
            raise RuntimeError(f"blocks {wrong[:8]}: reference count and block tables disagree")
        if sorted(self._free) != [i for i in range(self.num_blocks) if holders[i] == 0]:
            raise RuntimeError("the free list does not hold exactly the blocks without a holder")

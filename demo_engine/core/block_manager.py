"""Who owns which block of the KV cache, and which blocks hold a beginning that another request may reuse."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from demo_engine.core.free_list import FreeList
from demo_engine.core.prefix_cache import Digest, PrefixCache
from demo_engine.core.request import EngineRequest, Scheduled


class BlockManager:
    """Hands out fixed-size blocks from one pool; taking and returning a block is O(1).

    Blocks are reference-counted: a block is free when nobody holds it. A free block keeps its content until it is
    taken for something else, so the free blocks are the prefix cache's memory as well. Blocks that hold nothing of
    use are taken first, then those that were freed longest ago, of one request the last block before the first. A
    block that several requests hold is full, and never written again.
    """

    def __init__(self, num_blocks: int, block_size: int, enable_prefix_caching: bool = False) -> None:
        self.num_blocks = num_blocks
        self.block_size = block_size
        self._free = FreeList(num_blocks)
        self._ref_counts = [0] * num_blocks
        self._cache = PrefixCache() if enable_prefix_caching else None

    @property
    def num_free(self) -> int:
        """Blocks that nobody holds."""
        return len(self._free)

    @property
    def num_used(self) -> int:
        """Blocks that somebody holds."""
        return self.num_blocks - len(self._free)

    def adopt_prefix(self, request: EngineRequest) -> int:
        """Give a request without blocks those that already hold its beginning.

        The block of its last known token is never among them: that token must be computed, because its logits are
        wanted, and a shared block must not be written.

        Returns:
            How many tokens need not be computed.
        """
        if self._cache is None:
            return 0
        for digest, token_ids in self._full_blocks(request, 0, (request.num_tokens - 1) // self.block_size):
            block = self._cache.find(digest, token_ids)
            if block is None:
                break
            if self._ref_counts[block] == 0:
                self._free.remove(block)
            self._ref_counts[block] += 1
            request.block_ids.append(block)
        request.num_computed_tokens = len(request.block_ids) * self.block_size
        return request.num_computed_tokens

    def allocate(self, request: EngineRequest, num_tokens: int) -> bool:
        """Give the request blocks for ``num_tokens`` tokens in all, or nothing.

        Returns:
            Whether there were enough.
        """
        num_missing = -(-num_tokens // self.block_size) - len(request.block_ids)
        if num_missing <= 0:
            return True
        if num_missing > len(self._free):
            return False
        for _ in range(num_missing):
            block = self._free.pop_first()
            if self._cache is not None:
                self._cache.forget(block)
            self._ref_counts[block] = 1
            request.block_ids.append(block)
        return True

    def computed(self, item: Scheduled) -> None:
        """Make the blocks findable that a step has filled."""
        if self._cache is None or item.start // self.block_size == item.end // self.block_size:
            return
        first, last = item.start // self.block_size, item.end // self.block_size
        for index, (digest, token_ids) in enumerate(self._full_blocks(item.request, first, last), first):
            self._cache.add(item.request.block_ids[index], digest, token_ids)

    def free(self, request: EngineRequest) -> None:
        """Take back all blocks of the request; nothing of it is computed any more."""
        for block in reversed(request.block_ids):
            self._ref_counts[block] -= 1
            if self._ref_counts[block] > 0:
                continue
            if self._cache is not None and block in self._cache:
                self._free.push_last(block)
            else:
                self._free.push_first(block)  # what was written last is still in the processor's cache
        request.block_ids.clear()
        request.num_computed_tokens = 0

    def condemn(self, block_ids: Sequence[int]) -> list[int]:
        """Make the blocks unfindable that nobody holds any more, because their content is wrong; return them."""
        blocks = [block for block in block_ids if self._ref_counts[block] == 0]
        if self._cache is not None:
            for block in blocks:
                self._cache.forget(block)
        return blocks

    def unfinished(self, block_ids: Sequence[int]) -> list[int]:
        """Return the blocks that nobody holds any more and nobody can find."""
        free = (block for block in block_ids if self._ref_counts[block] == 0)
        return [block for block in free if self._cache is None or block not in self._cache]

    def _full_blocks(self, request: EngineRequest, first: int, last: int) -> Iterator[tuple[Digest, tuple[int, ...]]]:
        """Yield digest and tokens of the request's full blocks ``first`` up to ``last``, digesting each once."""
        if self._cache is None:
            return
        for index in range(min(first, len(request.block_digests)), last):
            token_ids = tuple(request.token_ids(index * self.block_size, (index + 1) * self.block_size))
            if index == len(request.block_digests):
                before = request.block_digests[-1] if request.block_digests else b""
                request.block_digests.append(self._cache.digest(before, token_ids))
            if index >= first:
                yield request.block_digests[index], token_ids

    def check_integrity(self, requests: Iterable[EngineRequest]) -> None:
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
        free = list(self._free)
        if sorted(free) != [i for i in range(self.num_blocks) if holders[i] == 0] or len(free) != len(self._free):
            raise RuntimeError("the free list does not hold exactly the blocks without a holder")
        if self._cache is not None:
            self._cache.check_integrity()

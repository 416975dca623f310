"""Prefix reuse: only equal beginnings, never the last block, the oldest tails evicted first."""

from __future__ import annotations

import subprocess
import sys

from demo_engine.core.block_manager import BlockManager
from demo_engine.core.prefix_cache import PrefixCache
from demo_engine.core.request import EngineRequest, SamplingParams, Scheduled

SIZE = 4


def make_request(name: str, prompt) -> EngineRequest:
    """Return a request without blocks."""
    return EngineRequest(name, tuple(prompt), SamplingParams(4))


def compute(blocks: BlockManager, request: EngineRequest) -> EngineRequest:
    """Give the request blocks for its prompt, and note that all of it was computed."""
    assert blocks.allocate(request, request.num_tokens)
    blocks.computed(Scheduled(request, 0, request.num_tokens, samples=True, is_prefill=True))
    return request


def pool(num_blocks: int = 8) -> BlockManager:
    """Return a manager that caches."""
    return BlockManager(num_blocks, SIZE, enable_prefix_caching=True)


def num_found(blocks: BlockManager, prompt) -> int:
    """Return how many tokens of a prompt are found, and give the blocks back."""
    request = make_request("probe", prompt)
    found = blocks.adopt_prefix(request)
    blocks.free(request)
    return found


def test_a_beginning_is_shared_while_its_first_owner_still_runs():
    """Two requests hold the same blocks; each is counted twice, and is free only when both have let go."""
    blocks = pool()
    first = compute(blocks, make_request("first", range(10)))
    second = make_request("second", [*range(8), 90, 91])
    assert blocks.adopt_prefix(second) == 8
    assert second.block_ids == first.block_ids[:2]
    blocks.check_integrity([first, second])
    blocks.free(first)
    assert blocks.num_used == 2
    blocks.free(second)
    assert blocks.num_used == 0
    blocks.check_integrity([])


def test_a_beginning_is_found_after_its_owner_has_gone():
    """A free block keeps its content until it is needed for something else."""
    blocks = pool()
    blocks.free(compute(blocks, make_request("first", range(10))))
    assert blocks.num_used == 0
    assert num_found(blocks, [*range(8), 90]) == 8
    assert num_found(blocks, [*range(4), 90, 91, 92, 93, 94]) == 4


def test_the_same_tokens_after_another_beginning_are_not_found():
    """A block is known by all tokens before it, not by its own alone."""
    blocks = pool()
    blocks.free(compute(blocks, make_request("first", [1, 1, 1, 1, 2, 2, 2, 2])))
    assert num_found(blocks, [2, 2, 2, 2, 9]) == 0
    assert num_found(blocks, [3, 3, 3, 3, 2, 2, 2, 2, 9]) == 0


def test_a_prompt_that_is_wholly_known_computes_its_last_block_again():
    """The last token's logits are wanted, and a shared block is never written."""
    blocks = pool()
    blocks.free(compute(blocks, make_request("first", range(8))))
    assert num_found(blocks, range(8)) == 4
    assert num_found(blocks, range(9)) == 8


def test_only_what_was_computed_is_found():
    """Blocks that are allocated but not filled, and the block that is partly filled, cannot be hit."""
    blocks, request = pool(), make_request("first", range(12))
    blocks.allocate(request, 12)
    assert num_found(blocks, range(13)) == 0
    blocks.computed(Scheduled(request, 0, 7, samples=False, is_prefill=True))
    assert num_found(blocks, range(13)) == 4
    blocks.computed(Scheduled(request, 7, 12, samples=True, is_prefill=True))
    assert num_found(blocks, range(13)) == 12


def test_output_is_found_as_well():
    """A follow-up question that repeats the answer finds the answer's blocks."""
    blocks, request = pool(), make_request("first", range(6))
    compute(blocks, request)
    request.output_ids += [50, 51]
    blocks.allocate(request, 8)
    blocks.computed(Scheduled(request, 6, 8, samples=True, is_prefill=False))
    blocks.free(request)
    assert num_found(blocks, [*range(6), 50, 51, 99]) == 8


def test_tails_are_evicted_first_and_useless_blocks_before_them():
    """A pool under pressure takes blocks without content, then the ends of what was freed longest ago."""
    blocks = pool(4)
    blocks.free(compute(blocks, make_request("cached", range(12))))  # three findable blocks, one never used
    assert num_found(blocks, range(13)) == 12
    taken = make_request("other", range(100, 108))
    assert blocks.allocate(taken, 8)  # the unused one, and the tail
    assert num_found(blocks, range(13)) == 8
    assert num_found(blocks, range(100, 109)) == 0
    blocks.check_integrity([taken])


def test_a_digest_that_meets_by_chance_is_a_miss(monkeypatch):
    """With a digest that is always the same, the tokens themselves keep requests apart."""
    monkeypatch.setattr(PrefixCache, "digest", lambda self, before, token_ids: b"same")
    blocks = pool()
    blocks.free(compute(blocks, make_request("first", [1, 1, 1, 1])))
    assert num_found(blocks, [2, 2, 2, 2, 9]) == 0
    assert num_found(blocks, [1, 1, 1, 1, 9]) == 4


def test_condemned_blocks_are_never_found_again():
    """What a request alone holds can be withdrawn; what it shares stays."""
    blocks = pool()
    first = compute(blocks, make_request("first", range(4)))
    second = make_request("second", range(12))
    blocks.adopt_prefix(second)
    compute(blocks, second)
    held = list(second.block_ids)
    blocks.free(second)
    assert blocks.condemn(held) == held[1:]
    assert num_found(blocks, range(13)) == 4
    blocks.check_integrity([first])


def test_digests_differ_from_process_to_process():
    """Nobody can construct prompts whose digests meet, because the key is drawn anew each time."""
    code = "from demo_engine.core.prefix_cache import PrefixCache; print(PrefixCache().digest(b'', (1, 2)).hex())"
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout for _ in range(2)]
    assert runs[0] != runs[1]


def test_without_caching_nothing_is_found_or_digested():
    """The toggle is off by default, and then costs nothing."""
    blocks = BlockManager(8, SIZE)
    request = compute(blocks, make_request("first", range(8)))
    blocks.free(request)
    assert num_found(blocks, range(9)) == 0
    assert request.block_digests == []

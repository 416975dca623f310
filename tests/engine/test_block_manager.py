"""The block manager against a model of it: whatever is asked in whatever order, no block is lost or given twice."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from demo_engine.core.block_manager import BlockManager
from demo_engine.core.request import EngineRequest, SamplingParams

BLOCK_SIZE = 16


def make_request(name: str = "a") -> EngineRequest:
    """Return a request without blocks."""
    return EngineRequest(name, (1, 2, 3), SamplingParams(4))


class BlockManagerMachine(RuleBasedStateMachine):
    @initialize(num_blocks=st.integers(1, 12))
    def start(self, num_blocks):
        self.blocks = BlockManager(num_blocks, BLOCK_SIZE)
        self.requests = [make_request(f"r{index}") for index in range(4)]
        self.lengths = [0] * 4

    @rule(which=st.integers(0, 3), num_tokens=st.integers(0, 15 * BLOCK_SIZE))
    def allocate(self, which, num_tokens):
        request = self.requests[which]
        missing = max(0, -(-num_tokens // BLOCK_SIZE) - len(request.block_ids))
        free_before = self.blocks.num_free
        done = self.blocks.allocate(request, num_tokens)
        assert done == (missing <= free_before)
        assert self.blocks.num_free == free_before - (missing if done else 0)

    @rule(which=st.integers(0, 3))
    def free(self, which):
        self.blocks.free(self.requests[which])
        assert self.requests[which].block_ids == []

    @invariant()
    def nothing_is_lost(self):
        if hasattr(self, "blocks"):
            self.blocks.check_integrity(self.requests)
            assert self.blocks.num_free + self.blocks.num_used == self.blocks.num_blocks


TestBlockManagerMachine = BlockManagerMachine.TestCase
TestBlockManagerMachine.settings = settings(max_examples=60, deadline=None)


def test_an_allocation_that_does_not_fit_takes_nothing():
    """All or nothing: a request that cannot be held whole leaves the pool as it was."""
    blocks, request = BlockManager(2, BLOCK_SIZE), make_request()
    assert not blocks.allocate(request, 3 * BLOCK_SIZE)
    assert request.block_ids == []
    assert blocks.num_free == 2


def test_integrity_finds_a_block_that_was_forgotten():
    """A block that leaves a block table without being freed is reported."""
    blocks, request = BlockManager(4, BLOCK_SIZE), make_request()
    blocks.allocate(request, 2 * BLOCK_SIZE)
    request.block_ids.pop()
    with pytest.raises(RuntimeError, match="disagree"):
        blocks.check_integrity([request])


def test_integrity_finds_a_block_that_two_requests_hold():
    """A block in two tables that is counted once is reported."""
    blocks, first, second = BlockManager(4, BLOCK_SIZE), make_request(), make_request("b")
    blocks.allocate(first, BLOCK_SIZE)
    second.block_ids.append(first.block_ids[0])
    with pytest.raises(RuntimeError, match="disagree"):
        blocks.check_integrity([first, second])

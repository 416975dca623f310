"""The toggles of the scheduler, seen from the record of steps: who is in which step, with how many tokens."""

from __future__ import annotations

import pytest

from demo_engine.core.config import EngineConfig
from demo_engine.core.loop import EngineLoop
from demo_engine.core.request import EngineRequest, SamplingParams
from demo_engine.core.request_queue import RequestQueue
from engine_fakes import Collector, CountingRunner, FakeClock


class Engine:
    """A loop on the fake model, driven to its end."""

    def __init__(self, **settings):
        config = EngineConfig(**{"block_size": 4} | settings)
        self.output = Collector()
        self.runner = CountingRunner(config.block_size)
        self.loop = EngineLoop(config, self.runner, self.output, FakeClock())

    def submit(self, name: str, prompt_len: int, max_tokens: int, priority: int = 0, first: int = 1) -> None:
        """Queue a request whose prompt counts from ``first``."""
        prompt = tuple(range(first, first + prompt_len))
        self.loop.submit(EngineRequest(name, prompt, SamplingParams(max_tokens), priority=priority))

    def run(self, num_steps: int = 1000) -> None:
        """Make steps while there is work."""
        for _ in range(num_steps):
            if self.loop.has_work:
                self.loop.step()
                self.loop.scheduler.blocks.check_integrity(self.loop.scheduler)

    @property
    def members(self) -> list[list[str]]:
        """The requests of each step."""
        return self.loop.log.ids(0, self.loop.log.num_steps - 1)[0]

    @property
    def preempted(self) -> list[list[str]]:
        """The preempted requests of each step."""
        return self.loop.log.ids(0, self.loop.log.num_steps - 1)[1]

    def column(self, name: str) -> list[int]:
        """A column of the record."""
        return self.loop.log.columns(0, self.loop.log.num_steps - 1)[name]


def test_a_chunk_size_lets_neighbours_decode_between_chunks():
    """A long prompt takes its chunk a step, and the neighbour gets a token in each of them."""
    engine = Engine(long_prefill_token_threshold=8)
    engine.submit("neighbour", 3, 10)
    engine.run(1)
    engine.submit("long", 30, 2)
    engine.run(4)
    assert engine.column("prefill_tokens") == [3, 8, 8, 8, 6]
    assert engine.column("decode_tokens") == [0, 1, 1, 1, 1]


def test_without_chunks_a_prompt_is_computed_at_once_or_waits():
    """A prompt that does not fit beside what runs waits whole; nothing behind it overtakes."""
    engine = Engine(enable_chunked_prefill=False, max_num_batched_tokens=16)
    engine.submit("first", 12, 3)
    engine.submit("second", 15, 2)
    engine.submit("third", 16, 2)
    engine.run()
    assert engine.members == [["first"], ["first", "second"], ["first", "second"], ["third"], ["third"]]
    assert engine.column("prefill_tokens") == [12, 15, 0, 16, 0]
    assert engine.loop.scheduler.blocks.num_used == 0


def test_without_chunks_a_request_may_not_exceed_the_budget():
    """What one step can never compute is not accepted in the first place."""
    assert EngineConfig(enable_chunked_prefill=False, max_num_batched_tokens=100).max_request_tokens == 100
    assert EngineConfig(max_num_batched_tokens=100, max_model_len=500).max_request_tokens == 500


@pytest.mark.parametrize("batching", ["static", "continuous"])
def test_a_static_batch_is_over_before_the_next_one_begins(batching):
    """The place of a short answer stays empty until the long one ends; continuous batching fills it."""
    engine = Engine(batching=batching, max_num_seqs=2)
    for name, max_tokens in (("short", 1), ("long", 4), ("late", 2)):
        engine.submit(name, 3, max_tokens)
    engine.run()
    late = [index for index, names in enumerate(engine.members) if "late" in names]
    assert late == ([4, 5] if batching == "static" else [1, 2])


def test_priorities_are_served_lowest_number_first():
    """With one place, the queue's order is priority, then arrival; under fcfs it is arrival alone."""
    for policy, order in (("priority", ["b", "d", "a", "c"]), ("fcfs", ["a", "b", "c", "d"])):
        engine = Engine(scheduling_policy=policy, max_num_seqs=1)
        for name, priority in (("a", 5), ("b", -1), ("c", 5), ("d", 0)):
            engine.submit(name, 2, 1, priority)
        engine.run()
        assert engine.members == [[name] for name in order]


def test_the_lowest_priority_is_preempted_first():
    """When blocks run out, the request with the highest number goes, although it came first; it ends last."""
    engine = Engine(scheduling_policy="priority", num_kv_blocks=5)
    engine.submit("unimportant", 7, 8, priority=9)
    engine.run(1)
    engine.submit("important", 7, 8, priority=1, first=50)
    engine.run()
    assert ["unimportant"] in engine.preempted
    assert ["important"] not in engine.preempted
    assert list(engine.output.reasons) == ["important", "unimportant"]
    assert all(len(tokens) == 8 for tokens in engine.output.tokens_by_id.values())


def test_a_long_prompt_of_higher_rank_leaves_each_decode_its_token():
    """However much a prompt could use of the budget, whoever decodes behind it gets a token in every step."""
    engine = Engine(scheduling_policy="priority", max_num_batched_tokens=8)
    engine.submit("unimportant", 3, 8, priority=9)
    engine.run(1)
    engine.submit("important", 30, 2, priority=1, first=50)
    engine.run(5)
    assert engine.column("prefill_tokens")[1:] == [7, 7, 7, 7, 2]
    assert engine.column("decode_tokens")[1:] == [1] * 5


def test_a_prefix_hit_stands_in_the_record_and_saves_its_tokens():
    """The second of two equal prompts computes its last block alone, and the step says how much was found."""
    engine = Engine(enable_prefix_caching=True)
    engine.submit("first", 16, 1)
    engine.run()
    engine.submit("second", 16, 1)
    engine.run()
    assert engine.column("prefill_tokens") == [16, 4]
    assert engine.column("cached_tokens") == [0, 12]
    assert engine.output.cached_by_id == {"first": 0, "second": 12}
    assert engine.output.tokens_by_id["first"] == engine.output.tokens_by_id["second"]


def test_a_preempted_request_finds_its_own_blocks_again():
    """Recomputation after a preemption begins with what nobody has taken meanwhile."""
    engine = Engine(num_kv_blocks=6, enable_prefix_caching=True)
    engine.submit("first", 7, 8)
    engine.submit("second", 7, 8, first=50)
    engine.run()
    assert ["second"] in engine.preempted
    assert sum(engine.column("cached_tokens")) > 0
    assert engine.output.cached_by_id == {"first": 0, "second": 0}  # as they first left the queue


def test_a_request_whose_logits_are_no_numbers_ends_alone():
    """It fails, its blocks are erased and free, and its neighbour's answer is the one that it gets alone."""
    alone = Engine()
    alone.submit("neighbour", 6, 5)
    alone.run()
    engine = Engine(enable_prefix_caching=True)
    engine.runner.failing_ids = {"broken"}
    engine.submit("broken", 9, 5, first=50)
    engine.submit("neighbour", 6, 5)
    engine.run(1)
    engine.submit("heir", 9, 5, first=50)  # the same prompt must not find what failed
    engine.run()
    assert engine.output.failed_ids == ["broken"]
    assert "broken" not in engine.output.tokens_by_id
    assert len(engine.runner.erased_ids) == 3
    assert engine.output.cached_by_id["heir"] == 0
    assert engine.output.tokens_by_id["neighbour"] == alone.output.tokens_by_id["neighbour"]
    assert engine.loop.scheduler.blocks.num_used == 0


def test_a_cancelled_request_leaves_the_queue_wherever_it_stands():
    """First, middle and last can go, and the order of the others stays."""
    queue = RequestQueue()
    requests = [EngineRequest(f"r{index}", (1,), SamplingParams(1), rank=(0, index)) for index in range(5)]
    for request in requests:
        queue.push(request)
    for index in (0, 2, 4):
        queue.remove(requests[index])
    assert [request.id for request in queue] == ["r1", "r3"]
    assert len(queue) == 2
    assert [queue.pop().id, queue.pop().id] == ["r1", "r3"]
    assert not queue

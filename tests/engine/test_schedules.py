"""Any schedule on a fake model that reads its context through the block tables: right tokens, no block lost."""

from __future__ import annotations

import random

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from demo_engine.core.config import EngineConfig
from demo_engine.core.loop import EngineLoop
from demo_engine.core.request import EngineRequest, SamplingParams
from engine_fakes import Collector, CountingRunner, FakeClock, expected_tokens, half_right

BLOCK_SIZE = 4
CONFIGS = st.builds(
    EngineConfig,
    block_size=st.just(BLOCK_SIZE),
    num_kv_blocks=st.integers(4, 12),
    max_num_seqs=st.integers(1, 5),
    max_num_batched_tokens=st.integers(6, 40),
    batching=st.sampled_from(["continuous", "static"]),
    scheduling_policy=st.sampled_from(["fcfs", "priority"]),
    enable_chunked_prefill=st.booleans(),
    long_prefill_token_threshold=st.integers(0, 5),
    use_kv_cache=st.sampled_from([True, True, True, False]),
    enable_prefix_caching=st.sampled_from([True, True, False]),
    num_speculative_tokens=st.sampled_from([0, 0, 1, 5]),
)


def make_prompt(family: int, length: int, suffix: int) -> tuple[int, ...]:
    """Return a prompt that begins like all others of its family; a suffix of 0 makes it wholly common."""
    common = tuple(1000 * family + index for index in range(length))
    return (*common, 90_000 + suffix) if suffix else common


class EngineMachine(RuleBasedStateMachine):
    """Requests that begin alike come, run, are cancelled and fail, between steps and in the midst of them.

    Small pools force preemptions, small budgets force chunks, families of prompts make prefix hits; some engines
    guess, rightly and wrongly.
    """

    @initialize(config=CONFIGS)
    def start(self, config):
        self.config = config
        self.output = Collector()
        self.runner = CountingRunner(BLOCK_SIZE)
        self.runner.proposals = half_right
        self.loop = EngineLoop(config, self.runner, self.output, FakeClock(), self.poll)
        self.wanted: dict[str, list[int]] = {}
        self.cancelled: set[str] = set()
        self.cancel_at_poll: str | None = None
        self.num_polls_before = 0

    def poll(self):
        if self.cancel_at_poll is None:
            return
        if self.num_polls_before > 0:
            self.num_polls_before -= 1
            return
        name, self.cancel_at_poll = self.cancel_at_poll, None
        self.cancel(name)
        self.check()
        assert name not in [request.id for request in self.loop.scheduler]

    def cancel(self, name):
        if name not in self.output.reasons and name not in self.output.failed_ids:
            self.cancelled.add(name)
        self.loop.cancel(name)

    @rule(
        family=st.integers(1, 2), length=st.integers(1, 14), suffix=st.integers(0, 3), max_tokens=st.integers(1, 6),
        priority=st.integers(-1, 1), fails=st.sampled_from([False] * 9 + [True]),
    )  # fmt: skip
    def submit(self, family, length, suffix, max_tokens, priority, fails):
        prompt = make_prompt(family, length, suffix)
        if len(prompt) + max_tokens > self.config.max_request_tokens:
            return
        name = f"r{len(self.wanted)}"
        self.wanted[name] = expected_tokens(prompt, max_tokens)
        if fails:
            self.runner.failing_ids.add(name)
        self.loop.submit(EngineRequest(name, prompt, SamplingParams(max_tokens), priority=priority))

    @precondition(lambda self: self.loop.has_work)
    @rule(count=st.integers(1, 4))
    def step(self, count):
        for _ in range(count):
            if self.loop.has_work:
                self.loop.step()
                self.check()

    @precondition(lambda self: self.wanted)
    @rule(which=st.integers(0, 30))
    def cancel_between_steps(self, which):
        self.cancel(f"r{which % len(self.wanted)}")

    @precondition(lambda self: self.wanted and self.loop.has_work)
    @rule(which=st.integers(0, 30), layer=st.integers(0, 1))
    def cancel_within_a_step(self, which, layer):
        self.cancel_at_poll, self.num_polls_before = f"r{which % len(self.wanted)}", layer
        self.loop.step()
        self.check()

    def check(self):
        scheduler = self.loop.scheduler
        scheduler.blocks.check_integrity(scheduler)
        assert len(scheduler.running) <= self.config.max_num_seqs
        assert scheduler.running == sorted(scheduler.running, key=lambda request: request.rank)
        assert all(
            request.block_ids == [] and request.draft_ids == [] and request.num_computed_tokens == 0
            for request in scheduler.waiting
        )

    @invariant()
    def nothing_is_lost(self):
        if hasattr(self, "loop"):
            self.check()

    def teardown(self):
        if not hasattr(self, "loop"):
            return
        for _ in range(2000):
            if self.loop.has_work:
                self.loop.step()
                self.check()
        assert not self.loop.has_work, "a request never finished"
        assert self.loop.scheduler.blocks.num_used == 0
        for name, tokens in self.wanted.items():
            if name in self.cancelled:
                continue
            if name in self.runner.failing_ids:
                assert name in self.output.failed_ids
                assert name not in self.output.tokens_by_id
            else:
                assert self.output.tokens_by_id[name] == tokens
                assert self.output.reasons[name] == "length"


TestEngineMachine = EngineMachine.TestCase
TestEngineMachine.settings = settings(max_examples=100, stateful_step_count=30, deadline=None)


def test_a_long_random_run_meets_every_event_and_keeps_every_token_right():
    """1,500 steps under pressure with hits, guesses, preemptions, cancels, failures: all seen, no token wrong."""
    chance = random.Random(5)  # noqa: S311 (a schedule, not a secret)
    config = EngineConfig(
        block_size=BLOCK_SIZE, num_kv_blocks=14, max_num_seqs=5, max_num_batched_tokens=24,
        long_prefill_token_threshold=7, enable_prefix_caching=True, scheduling_policy="priority",
        num_speculative_tokens=3,
    )  # fmt: skip
    output, runner = Collector(), CountingRunner(BLOCK_SIZE)
    runner.proposals = half_right
    loop = EngineLoop(config, runner, output, FakeClock())
    wanted: dict[str, list[int]] = {}
    cancelled: set[str] = set()
    while loop.log.num_steps < 1500 or loop.has_work:
        if loop.log.num_steps < 1500 and len(list(loop.scheduler)) < 8:
            prompt = make_prompt(chance.randint(1, 3), chance.randint(1, 24), chance.randint(0, 4))
            name, max_tokens = f"r{len(wanted)}", chance.randint(1, 12)
            wanted[name] = expected_tokens(prompt, max_tokens)
            if chance.random() < 0.03:
                runner.failing_ids.add(name)
            loop.submit(EngineRequest(name, prompt, SamplingParams(max_tokens), priority=chance.randint(0, 2)))
        if loop.has_work and chance.random() < 0.03:
            victim = chance.choice(list(loop.scheduler)).id
            cancelled.add(victim)
            loop.cancel(victim)
        if loop.has_work:
            loop.step()
            loop.scheduler.blocks.check_integrity(loop.scheduler)
    first, last = loop.log.oldest(), loop.log.num_steps - 1
    assert sum(loop.log.columns(first, last)["cached_tokens"]) > 500
    assert sum(map(len, loop.log.ids(first, last)[1])) > 50
    columns = loop.log.columns(first, last)
    assert sum(columns["draft_tokens"]) > sum(columns["accepted_tokens"]) + 500 > 1000
    assert len(cancelled) > 10
    assert len(output.failed_ids) > 5
    for name in set(wanted) - cancelled - runner.failing_ids:
        assert output.tokens_by_id[name] == wanted[name]
    assert loop.scheduler.blocks.num_used == 0

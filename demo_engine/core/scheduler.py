"""Which tokens of which requests the next step computes."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from demo_engine.core.block_manager import BlockManager
from demo_engine.core.config import EngineConfig
from demo_engine.core.request import EngineRequest, Scheduled, rank
from demo_engine.core.request_queue import RequestQueue


@dataclass(slots=True)
class Plan:
    """The work of one step."""

    items: list[Scheduled] = field(default_factory=list)
    started: list[EngineRequest] = field(default_factory=list)
    """Requests that have left the queue for the first time."""
    preempted: list[EngineRequest] = field(default_factory=list)
    num_cached_tokens: int = 0
    """Tokens that need not be computed, because their blocks were found in the prefix cache."""
    num_draft_tokens: int = 0

    @property
    def num_prefill_tokens(self) -> int:
        """Tokens of prompts, and of what is computed again after a preemption."""
        return sum(item.num_tokens for item in self.items if item.is_prefill)

    @property
    def num_decode_tokens(self) -> int:
        """Requests that compute their newest token alone."""
        return sum(not item.is_prefill for item in self.items)


class Scheduler:
    """One queue and one token budget.

    There is no prefill phase and no decode phase: each request has tokens known and tokens computed, and a step lets
    the second number catch up with the first. Requests have a rank: their priority if the policy says so, then their
    arrival. When blocks run out, the running request that ranks last gives up its own and goes back to its place in
    the queue, to be computed again.
    """

    def __init__(
        self, config: EngineConfig, propose: Callable[[EngineRequest, int], list[int]] = lambda request, limit: []
    ) -> None:
        is_caching = config.enable_prefix_caching and config.use_kv_cache
        self.blocks = BlockManager(config.num_kv_blocks, config.block_size, is_caching)
        self.waiting = RequestQueue()
        self.running: list[EngineRequest] = []
        """In the order of their rank."""
        self._config = config
        self._propose = propose
        self._chunk_tokens = config.chunk_tokens
        self._may_chunk = config.may_chunk
        self._num_arrived = 0

    def __iter__(self) -> Iterator[EngineRequest]:
        """Iterate over all requests, running ones first."""
        yield from self.running
        yield from self.waiting

    def add(self, request: EngineRequest) -> None:
        """Queue a request."""
        by_priority = self._config.scheduling_policy == "priority"
        request.rank = (request.priority if by_priority else 0, self._num_arrived)
        self._num_arrived += 1
        self.waiting.push(request)

    def remove(self, request: EngineRequest) -> None:
        """Forget a request that is finished or cancelled, and free its blocks."""
        if request in self.running:
            self.running.remove(request)
        else:
            self.waiting.remove(request)
        self.blocks.free(request)

    def plan(self) -> Plan:
        """Choose the next step's tokens and give them blocks."""
        plan = Plan()
        may_admit = self._config.batching == "continuous" or not self.running
        budget = self._plan_running(plan)
        if may_admit and not plan.preempted:
            self._admit(plan, budget)
        return plan

    def computed(self, item: Scheduled) -> None:
        """Note that a step has computed this, without what follows a wrong guess; without a KV cache, forget it."""
        if item.request.draft_ids:
            item = item._replace(end=item.request.num_tokens - 1)
        item.request.num_computed_tokens = item.end if self._config.use_kv_cache else 0
        self.blocks.computed(item)

    def _plan_running(self, plan: Plan) -> int:
        """Let the running requests go on; return what is left of the budget."""
        budget, index, limit = self._config.max_num_batched_tokens, 0, self._config.num_speculative_tokens
        while index < len(self.running) and budget > 0:
            request = self.running[index]
            index += 1
            # A token of the budget stays for each one behind, so that decodes go on.
            num_kept = len(self.running) - index if self._config.use_kv_cache else 0
            if limit and request.num_tokens - request.num_computed_tokens == 1:
                request.draft_ids = self._propose(request, limit)
            end = self._end(request, max(1, budget - num_kept))
            if end == request.num_computed_tokens:
                continue
            if request.draft_ids:
                if not self.blocks.allocate(request, end):
                    end = request.num_tokens  # nobody loses a block for a guess
                del request.draft_ids[end - request.num_tokens :]
                plan.num_draft_tokens += len(request.draft_ids)
            while not self.blocks.allocate(request, end):
                victim = self._preempt_last(plan)
                if victim is request:
                    return budget
            plan.items.append(Scheduled.up_to(request, end))
            budget -= end - request.num_computed_tokens
        return budget

    def _admit(self, plan: Plan, budget: int) -> None:
        """Let requests in from the queue, in its order, while there is room for the next one."""
        while self.waiting and budget > 0 and len(self.running) < self._config.max_num_seqs:
            request = self.waiting.first()
            num_cached = self.blocks.adopt_prefix(request)
            end = self._end(request, budget)
            if end == num_cached or not self.blocks.allocate(request, end):
                self.blocks.free(request)
                return
            bisect.insort(self.running, self.waiting.pop(), key=rank)
            plan.items.append(Scheduled.up_to(request, end))
            plan.num_cached_tokens += num_cached
            if request.num_cached_tokens is None:
                request.num_cached_tokens = num_cached
                plan.started.append(request)
            budget -= end - num_cached

    def _end(self, request: EngineRequest, budget: int) -> int:
        """Return up to where a step may compute the request; without chunks, all of it or nothing."""
        start = request.num_computed_tokens
        end = min(request.num_tokens + len(request.draft_ids), start + min(budget, self._chunk_tokens))
        return end if self._may_chunk or end >= request.num_tokens else start

    def _preempt_last(self, plan: Plan) -> EngineRequest:
        victim = self.running.pop()
        self.blocks.free(victim)
        victim.draft_ids.clear()
        self.waiting.push(victim)
        plan.preempted.append(victim)
        return victim

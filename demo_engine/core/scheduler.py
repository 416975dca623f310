"""Which tokens of which requests the next step computes."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from demo_engine.core.block_manager import BlockManager
from demo_engine.core.config import EngineConfig
from demo_engine.core.request import EngineRequest, Scheduled


@dataclass(slots=True)
class Plan:
    """The work of one step."""

    items: list[Scheduled] = field(default_factory=list)
    preempted: list[EngineRequest] = field(default_factory=list)

    @property
    def num_prefill_tokens(self) -> int:
        """Tokens of prompts, and of what is computed again after a preemption."""
        return sum(item.num_tokens for item in self.items if item.is_prefill)

    @property
    def num_decode_tokens(self) -> int:
        """Requests that compute their newest token alone."""
        return sum(not item.is_prefill for item in self.items)


class Scheduler:
    """Continuous batching with one queue and one token budget, first come first served.

    There is no prefill phase and no decode phase: each request has tokens known and tokens computed, and a step lets
    the second number catch up with the first. When blocks run out, the request that came last gives up its own and
    goes back to the head of the queue, to be computed again.
    """

    def __init__(self, config: EngineConfig) -> None:
        self.blocks = BlockManager(config.num_kv_blocks, config.block_size)
        self.waiting: deque[EngineRequest] = deque()
        self.running: list[EngineRequest] = []
        self._max_num_seqs = config.max_num_seqs
        self._budget = config.max_num_batched_tokens

    def __iter__(self) -> Iterator[EngineRequest]:
        """Iterate over all requests, running ones first."""
        yield from self.running
        yield from self.waiting

    def add(self, request: EngineRequest) -> None:
        """Queue a request."""
        self.waiting.append(request)

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
        budget = self._plan_running(plan)
        if not plan.preempted:
            self._admit(plan, budget)
        return plan

    def _plan_running(self, plan: Plan) -> int:
        budget, index = self._budget, 0
        while index < len(self.running) and budget > 0:
            request = self.running[index]
            end = min(request.num_tokens, request.num_computed_tokens + budget)
            while not self.blocks.allocate(request, end):
                victim = self._preempt_last(plan)
                if victim is request:
                    return budget
            plan.items.append(Scheduled.up_to(request, end))
            budget -= end - request.num_computed_tokens
            index += 1
        return budget

    def _admit(self, plan: Plan, budget: int) -> None:
        while self.waiting and budget > 0 and len(self.running) < self._max_num_seqs:
            request = self.waiting[0]
            end = min(request.num_tokens, budget)
            if not self.blocks.allocate(request, end):
                return
            self.running.append(self.waiting.popleft())
            plan.items.append(Scheduled.up_to(request, end))
            budget -= end

    def _preempt_last(self, plan: Plan) -> EngineRequest:
        victim = self.running.pop()
        self.blocks.free(victim)
        victim.num_computed_tokens = 0
        self.waiting.appendleft(victim)
        plan.preempted.append(victim)
        return victim

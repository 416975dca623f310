"""The engine loop, and with it the life of a request, top to bottom.

1. ``submit`` puts it into the scheduler's queue.
2. ``step`` asks the scheduler for a plan. Sooner or later the plan lets it in: blocks that already hold its beginning
   are adopted, others are allocated, and ``started`` tells the world.
3. The runner computes its prompt, in one step or in chunks over several, beside whatever else is running.
4. The step that reaches its last known token samples the next one; ``tokens`` hands it out. From then on each step
   computes one token and samples one, and more if it computes guesses as well and they turn out to be right.
5. If blocks run out it may lose its own; it is then computed again, its output included, and goes on as before.
6. It ends with a stop token, at its length, by ``cancel`` (at once, be it in the queue or between two layers of a
   step), or, if its logits are not numbers, by ``failed``. Its blocks are free again.

Each step leaves one row in the log.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from demo_engine.core.config import EngineConfig
from demo_engine.core.request import EngineRequest, LastTokenReason, Sampled, Scheduled, TokenLogprobs
from demo_engine.core.scheduler import Plan, Scheduler
from demo_engine.core.step_log import StepLog, StepTimes


class StepAbortedError(Exception):
    """Raised between two layers when nobody waits for the step's longest work any more."""


@dataclass(frozen=True, slots=True)
class StepCost:
    """What a step must move and compute at least, from the shapes alone."""

    weight_bytes: int
    kv_bytes: int
    flops: int


class Runner(Protocol):
    """What the loop needs of a model."""

    stop_token_ids: frozenset[int]

    def prepare(self, items: Sequence[Scheduled]) -> Any:
        """Lay the items out as ``forward`` needs them."""

    def forward(self, batch: Any, beat: Callable[[], None]) -> Any:
        """Compute a batch and return what ``sample`` needs; ``beat`` is called between layers."""

    def propose(self, request: EngineRequest, limit: int) -> list[int]:
        """Guess the tokens that follow those of a request."""

    def sample(self, logits: Any, requests: Sequence[EngineRequest]) -> list[list[Sampled]]:
        """Choose the next token of each request whose last known token was computed; none if that cannot be.

        As long as a token is the one that was guessed, the one behind it is chosen as well.
        """

    def erase(self, block_ids: Sequence[int]) -> None:
        """Overwrite blocks whose content must not reach another request."""

    def cost(self, items: Sequence[Scheduled]) -> StepCost:
        """Return the step's cost."""


class NewToken(NamedTuple):
    """A token that a step produced."""

    request_id: str
    token_id: int
    finish_reason: LastTokenReason | None
    logprobs: TokenLogprobs | None = None
    mask_ns: int = 0


class EngineOutput(Protocol):
    """Where the loop hands out what happens."""

    def started(self, requests: Sequence[EngineRequest], start_ns: int) -> None:
        """Tell that requests have left the queue with the step that began at ``start_ns``."""

    def tokens(self, step: int, times: StepTimes, tokens: Sequence[NewToken], num_computed: int) -> None:
        """Hand out a step's tokens, and how many it has computed for them.

        The step's ``emitted_ns`` is not yet known and equals ``sampled_ns``.
        """

    def failed(self, request_id: str, reason: str, *, is_refusal: bool = False) -> None:
        """Tell that one request has ended with an error, which a refusal blames on the request."""


class EngineLoop:
    """One engine: the requests it holds and the steps it makes.

    Args:
        config: Settings.
        runner: The model.
        output: Receives tokens.
        clock_ns: A monotonic clock.
        poll: Reads new messages without waiting; it may call ``submit`` and ``cancel``.
    """

    def __init__(
        self,
        config: EngineConfig,
        runner: Runner,
        output: EngineOutput,
        clock_ns: Callable[[], int],
        poll: Callable[[], None] = lambda: None,
    ) -> None:
        self.scheduler = Scheduler(config, runner.propose)
        self.log = StepLog()
        self._runner = runner
        self._output = output
        self._clock_ns = clock_ns
        self._poll = poll
        self._requests: dict[str, EngineRequest] = {}
        self._dropped: dict[EngineRequest, list[int]] = {}
        """Requests that were cancelled in the present step, and the blocks that they had."""
        self._stepping: list[Scheduled] = []

    @property
    def has_work(self) -> bool:
        """Whether a step would do something."""
        return bool(self._requests)

    def submit(self, request: EngineRequest) -> None:
        """Queue a request."""
        self._requests[request.id] = request
        self.scheduler.add(request)

    def cancel(self, request_id: str) -> None:
        """Drop a request and free its blocks at once, even if a step computes it: that step goes on without its token.

        The step may still write into these blocks, but nobody can get them before the next step is planned; and what
        this step fills does not become findable, because that is done at its end for those that are left.
        """
        request = self._requests.get(request_id)
        if request is None:
            return
        if any(item.request is request for item in self._stepping):
            self._dropped[request] = list(request.block_ids)
        self._forget(request)

    def step(self) -> None:
        """Make one step. A step that computes a cancelled prompt, or nothing else, is given up between two layers."""
        start_ns = self._clock_ns()
        plan = self.scheduler.plan()
        self._stepping = plan.items
        num_prefill, num_decode = plan.num_prefill_tokens, plan.num_decode_tokens
        batch = self._runner.prepare(plan.items)
        planned_ns = self._clock_ns()
        if plan.started:
            self._output.started(plan.started, start_ns)
        ended: set[str] = set()
        mask_ns = num_accepted = 0
        try:
            logits = self._runner.forward(batch, self._beat)
            forwarded_ns = self._clock_ns()
            tokens, failed = self._sample(plan, logits)
            sampled_ns = self._clock_ns()
            times = StepTimes(start_ns, planned_ns, forwarded_ns, sampled_ns, sampled_ns)
            self._output.tokens(self.log.num_steps, times, tokens, num_prefill + num_decode + plan.num_draft_tokens)
            self._give_up(failed)
            ended = {token.request_id for token in tokens if token.finish_reason}
            mask_ns = sum(token.mask_ns for token in tokens)
            num_accepted = len(tokens) - len({token.request_id for token in tokens}) if plan.num_draft_tokens else 0
        except StepAbortedError:
            forwarded_ns = sampled_ns = self._clock_ns()
            for blocks in self._dropped.values():  # without logits nobody knows whether these are numbers
                self._runner.erase(self.scheduler.blocks.unfinished(blocks))
        self._stepping = []
        cost = self._runner.cost(plan.items)
        gauges = (len(self.scheduler.running), len(self.scheduler.waiting), self.scheduler.blocks.num_used)
        for request_id in ended:
            self._forget(self._requests[request_id])
        self._dropped.clear()
        times = StepTimes(start_ns, planned_ns, forwarded_ns, sampled_ns, self._clock_ns())
        self.log.append(
            (*times.row(), num_prefill, plan.num_cached_tokens, num_decode, *gauges,
             cost.weight_bytes, cost.kv_bytes, cost.flops, mask_ns, plan.num_draft_tokens, num_accepted),
            tuple(item.request.id for item in plan.items),
            tuple(request.id for request in plan.preempted),
        )  # fmt: skip

    def _beat(self) -> None:
        self._poll()
        if self._dropped and self._is_in_vain():
            raise StepAbortedError

    def _is_in_vain(self) -> bool:
        """Whether nobody waits for the step, or for a prompt that is most of its work."""
        unwanted = [item for item in self._stepping if item.request in self._dropped]
        return len(unwanted) == len(self._stepping) or any(item.is_prefill for item in unwanted)

    def _sample(self, plan: Plan, logits: Any) -> tuple[list[NewToken], list[EngineRequest]]:
        """Return the new tokens, and the requests that cannot have one."""
        dropped = self._dropped  # almost always empty, and asked for each request: so that is looked at first
        requests = [item.request for item in plan.items if item.samples]
        tokens, failed = [], []
        for request, chosen in zip(requests, self._runner.sample(logits, requests), strict=True):
            if dropped and request in dropped:
                if not chosen:
                    self._runner.erase(self.scheduler.blocks.condemn(dropped[request]))
                continue
            if not chosen:
                failed.append(request)
            for sampled in chosen:
                request.output_ids.append(sampled.token_id)
                reason = self._finish_reason(request, sampled)
                tokens.append(NewToken(request.id, sampled.token_id, reason, sampled.logprobs, sampled.mask_ns))
                if reason is not None:
                    break
        for item in plan.items:
            if not (dropped and item.request in dropped):
                self.scheduler.computed(item)
        return tokens, failed

    def _give_up(self, failed: list[EngineRequest]) -> None:
        """End requests whose grammar failed, or whose logits are not numbers; those let nothing reach another request.

        Even behind a mask, what is not a number in a block makes the sums of its next owner none.
        """
        for request in failed:
            blocks = list(request.block_ids)
            self._forget(request)
            if request.grammar is not None and request.grammar.failure is not None:
                self._output.failed(request.id, request.grammar.failure, is_refusal=True)
                continue
            self._runner.erase(self.scheduler.blocks.condemn(blocks))
            self._output.failed(request.id, "the model's logits for this request are not numbers")

    def _finish_reason(self, request: EngineRequest, sampled: Sampled) -> LastTokenReason | None:
        if sampled.token_id in self._runner.stop_token_ids and not request.sampling.ignore_eos:
            return "stop"
        if sampled.is_complete:
            return "complete"
        return "length" if len(request.output_ids) >= request.sampling.max_tokens else None

    def _forget(self, request: EngineRequest) -> None:
        self.scheduler.remove(request)
        del self._requests[request.id]

"""The engine loop: plan a step, run it, sample, hand the tokens out, and record how long each part took."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from demo_engine.core.config import EngineConfig
from demo_engine.core.request import EngineRequest, FinishReason, Scheduled, TokenLogprobs
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
        ...

    def forward(self, batch: Any, beat: Callable[[], None]) -> Any:
        """Compute a batch and return what ``sample`` needs; ``beat`` is called between layers."""
        ...

    def sample(self, logits: Any, requests: Sequence[EngineRequest]) -> list[int]:
        """Choose the next token of each request whose last known token was computed."""
        ...

    def cost(self, items: Sequence[Scheduled]) -> StepCost:
        """Return the step's cost."""
        ...


@dataclass(frozen=True, slots=True)
class NewToken:
    """A token that a step produced."""

    request_id: str
    token_id: int
    finish_reason: FinishReason | None
    logprobs: TokenLogprobs | None = None


class EngineOutput(Protocol):
    """Where the loop hands out what happens."""

    def started(self, request_ids: Sequence[str], start_ns: int) -> None:
        """Tell that requests have left the queue with the step that began at ``start_ns``."""
        ...

    def tokens(self, step: int, times: StepTimes, tokens: Sequence[NewToken]) -> None:
        """Hand out a step's tokens; the step's ``emitted_ns`` is not yet known and equals ``sampled_ns``."""
        ...


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
        self.scheduler = Scheduler(config)
        self.log = StepLog()
        self._runner = runner
        self._output = output
        self._clock_ns = clock_ns
        self._poll = poll
        self._requests: dict[str, EngineRequest] = {}
        self._cancelled: set[str] = set()
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
        """Drop a request: at once, or, while a step computes it, when that step ends."""
        if request_id not in self._requests:
            return
        if any(item.request.id == request_id for item in self._stepping):
            self._cancelled.add(request_id)
        else:
            self._forget(self._requests[request_id])

    def step(self) -> None:
        """Make one step. A step that computes a cancelled prompt is given up between two layers."""
        start_ns = self._clock_ns()
        plan = self.scheduler.plan()
        self._stepping = plan.items
        new = [item.request.id for item in plan.items if item.start == 0 and not item.request.output_ids]
        batch = self._runner.prepare(plan.items)
        planned_ns = self._clock_ns()
        if new:
            self._output.started(new, start_ns)
        tokens: list[NewToken] = []
        try:
            logits = self._runner.forward(batch, self._beat)
            forwarded_ns = self._clock_ns()
            tokens = self._sample(plan, logits)
            sampled_ns = self._clock_ns()
            times = StepTimes(start_ns, planned_ns, forwarded_ns, sampled_ns, sampled_ns)
            self._output.tokens(self.log.num_steps, times, tokens)
        except StepAbortedError:
            forwarded_ns = sampled_ns = self._clock_ns()
        self._stepping = []
        cost = self._runner.cost(plan.items)
        gauges = (len(self.scheduler.running), len(self.scheduler.waiting), self.scheduler.blocks.num_used)
        self._drop_finished(tokens)
        times = StepTimes(start_ns, planned_ns, forwarded_ns, sampled_ns, self._clock_ns())
        self.log.append(
            (*times.row(), plan.num_prefill_tokens, plan.num_decode_tokens, *gauges,
             cost.weight_bytes, cost.kv_bytes, cost.flops),
            tuple(item.request.id for item in plan.items),
            tuple(request.id for request in plan.preempted),
        )  # fmt: skip

    def _beat(self) -> None:
        self._poll()
        if any(item.is_prefill and item.request.id in self._cancelled for item in self._stepping):
            raise StepAbortedError

    def _sample(self, plan: Plan, logits: Any) -> list[NewToken]:
        sampled = [item.request for item in plan.items if item.samples]
        for item in plan.items:
            item.request.num_computed_tokens = item.end
        tokens = []
        for request, token_id in zip(sampled, self._runner.sample(logits, sampled), strict=True):
            request.output_ids.append(token_id)
            tokens.append(NewToken(request.id, token_id, self._finish_reason(request, token_id)))
        return tokens

    def _finish_reason(self, request: EngineRequest, token_id: int) -> FinishReason | None:
        if token_id in self._runner.stop_token_ids and not request.sampling.ignore_eos:
            return "stop"
        return "length" if len(request.output_ids) >= request.sampling.max_tokens else None

    def _drop_finished(self, tokens: list[NewToken]) -> None:
        finished = {token.request_id for token in tokens if token.finish_reason}
        for request_id in finished | self._cancelled:
            self._forget(self._requests[request_id])
        self._cancelled.clear()

    def _forget(self, request: EngineRequest) -> None:
        self.scheduler.remove(request)
        del self._requests[request.id]

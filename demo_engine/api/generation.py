"""One request on its way through the engine: its stages, its tokens, and its text as it becomes known."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from demo_engine.api.detokenizer import Detokenizer
from demo_engine.api.errors import ApiError
from demo_engine.api.logprobs import ScoredToken
from demo_engine.api.replica import Replica, ReplicaLost, TokenEvent
from demo_engine.api.replies import Ending
from demo_engine.api.router import Router
from demo_engine.api.stops import StopFinder
from demo_engine.core.request import FinishReason, SamplingParams
from demo_engine.ipc.messages import Aborted, Accepted, Started, StepsReply, Submit
from demo_engine.recorder.server_trace import (
    Attributes,
    ServerSpan,
    ServerSteps,
    ServerTokens,
    ServerTrace,
    StageClock,
)
from demo_engine.recorder.span_types import COMPONENTS


@dataclass(frozen=True, slots=True)
class Delta:
    """News of a reply: text that has become certain, spans that have ended, and at last the finish reason."""

    text: str = ""
    num_tokens: int = 0
    """How many tokens it tells of, whether or not their text is certain."""
    tokens: tuple[ScoredToken, ...] = ()
    """The tokens of this text, if their log probabilities were asked for."""
    spans: tuple[ServerSpan, ...] = ()
    finish_reason: FinishReason | None = None


class GenerationTimes(NamedTuple):
    """Seconds that a finished request spent. Inference is prefill and decode; the others contain more."""

    queue: float
    """From the engine's reading the request to its first step."""
    prefill: float
    """From its first step to its first token."""
    decode: float
    """From its first token to its last."""
    first_token: float
    """From the headers to the first token in the API process."""
    whole: float
    """From the headers to the last chunk."""
    between_tokens: list[float]
    """From each token to the next, in the engine."""


@dataclass
class Generation:
    """A request that a replica serves. The handler calls ``handed_out`` for each chunk that it writes."""

    id: str
    stages: StageClock
    replica: Replica
    prompt_ids: list[int]
    detokenizer: Detokenizer
    stops: StopFinder
    router: Router | None = None
    """Finds another replica if this one is lost before the first token."""
    tokens: ServerTokens = field(default_factory=ServerTokens)
    finish_reason: FinishReason = "cancelled"
    first_step: int = 0
    num_cached_tokens: int = 0
    """Tokens of the prompt that were found in the cache."""
    _was_moved: bool = False
    _queue_start_ns: int = 0
    _prefill_start_ns: int = 0
    _first_token_ns: int = 0
    _num_characters: int = 0
    """Of the reply's text, as far as it is known."""
    _num_shown: int = 0
    """Of it, as far as it is certain to be shown."""
    _ends: list[int] = field(default_factory=list)
    """How many characters must be shown for each token to be shown whole."""
    _num_whole: int = 0
    """Tokens of which nothing is held back."""
    _untold: list[ScoredToken] = field(default_factory=list)

    @property
    def num_output_tokens(self) -> int:
        """Tokens so far."""
        return len(self.tokens.id)

    async def run(self, sampling: SamplingParams, priority: int = 0) -> AsyncGenerator[Delta, None]:
        """Submit the request and yield what happens; leaving early cancels it.

        Raises:
            ApiError: The engine refused this request (400), gave it up (500), or was lost (503).
        """
        message = Submit(self.id, self.prompt_ids, sampling, priority)
        events = self.replica.submit(message)
        try:
            while True:
                event = await events.get()
                match event:
                    case Accepted():
                        yield Delta(spans=self._accept(event))
                    case Started():
                        self._prefill_start_ns = event.start_ns
                        self.num_cached_tokens = event.num_cached_tokens[event.request_ids.index(self.id)]
                        yield Delta(spans=(_span("queue", self._queue_start_ns, event.start_ns),))
                    case TokenEvent():
                        delta = self._receive(event)
                        yield delta
                        if delta.finish_reason is not None:
                            return
                    case Aborted():
                        self.finish_reason = "error"
                        raise _failure(event)
                    case ReplicaLost():
                        yield Delta(spans=self._move(event.reason))
                        events = self.replica.submit(message)
        finally:
            self.replica.cancel(self.id)

    def handed_out(self, at_ns: int, event: int) -> None:
        """Note that what was certain until now went to the socket with data event number ``event``.

        A token went with the event that carried the last of its text.
        """
        num_new = self._num_whole - len(self.tokens.write_ns)
        self.tokens.write_ns += [at_ns] * num_new
        self.tokens.event += [event] * num_new

    def ending(self) -> Ending:
        """Return why and with how many tokens it ended."""
        return Ending(
            self.finish_reason, self.stops.matched, len(self.prompt_ids), self.num_cached_tokens, self.num_output_tokens
        )

    def times(self) -> GenerationTimes | None:
        """Return where the time went, if the request has ended as it should."""
        if self.finish_reason not in ("stop", "length"):
            return None
        sampled_ns = self.tokens.sample_ns
        return GenerationTimes(
            queue=(self._prefill_start_ns - self._queue_start_ns) / 1e9,
            prefill=(sampled_ns[0] - self._prefill_start_ns) / 1e9,
            decode=(sampled_ns[-1] - sampled_ns[0]) / 1e9,
            first_token=(self._first_token_ns - self.stages.start_ns) / 1e9,
            whole=(self.stages.end_ns - self.stages.start_ns) / 1e9,
            between_tokens=[(later - earlier) / 1e9 for earlier, later in pairwise(sampled_ns)],
        )

    def trace(self, steps: StepsReply) -> ServerTrace:
        """Return everything that is known of the request."""
        recorded = ServerSteps(
            self.first_step, steps.columns, steps.request_ids, steps.preempted_ids, self.replica.config.num_kv_blocks
        )
        return ServerTrace(
            self.id, "perf_counter_ns", self.replica.bracket_ns, len(self.prompt_ids), self.finish_reason,
            self.stages.spans, self.tokens, recorded, self.num_cached_tokens, self.replica.index,
        )  # fmt: skip

    def _move(self, reason: str) -> tuple[ServerSpan, ...]:
        """Choose another replica, once: a request that costs a second one its life shall not meet a third.

        Raises:
            ApiError: A token has been handed out already, or there is no other replica (503).
        """
        lost = ApiError(503, reason, code="engine_lost", retry_s=2)
        try:
            if self.router is None or self._was_moved or self.tokens.id:
                raise lost
            self.replica, choice = self.router.choose(self.prompt_ids)
        except ApiError:
            self.finish_reason = "error"
            raise lost from None
        self._was_moved = True
        return self.stages.mark("lost", attributes={"reason": reason}), self.stages.mark("route", attributes=choice)

    def _accept(self, event: Accepted) -> tuple[ServerSpan, ...]:
        self.first_step = event.step
        submit = self.stages.mark("submit", event.read_ns)
        grammar = event.grammar
        if grammar is None:
            self._queue_start_ns = event.read_ns
            return (submit,)
        self._queue_start_ns = grammar.ready_ns
        attributes: Attributes = {
            "tables_ns": grammar.tables_ns, "compile_ns": grammar.compile_ns, "is_cached": grammar.is_cached,
        }  # fmt: skip
        return submit, self.stages.mark("grammar", grammar.ready_ns, attributes)

    def _receive(self, event: TokenEvent) -> Delta:
        step = event.step
        is_first = not self.tokens.id
        is_new_step = is_first or step.step != self.tokens.step[-1]
        text, finish_reason = self._text_of(event)
        if is_first:
            self._first_token_ns = event.read_ns
        if finish_reason is not None:
            self.finish_reason = finish_reason
            self.stages.mark("engine", step.sent_ns)
            self.stages.mark("deliver", event.read_ns)
            self.stages.mark("detokenize")
        ready_ns = self.stages.now_ns() if finish_reason is None else self.stages.end_ns
        self.tokens.id.append(event.token_id)
        self.tokens.text.append(text)
        self.tokens.step.append(step.step)
        self.tokens.sample_ns.append(step.sampled_ns)
        self.tokens.detok_ns.append(ready_ns)
        self._show(len(text), ready_ns, is_last=finish_reason is not None)
        spans: tuple[ServerSpan, ...] = (_span("token", step.sampled_ns, ready_ns),)
        if is_first:
            spans = (_span("prefill", self._prefill_start_ns, step.forwarded_ns), *spans)
        elif is_new_step:  # one step may have given several tokens
            spans = (_span("decode", step.planned_ns, step.forwarded_ns), *spans)
        return Delta(text, 1, self._tell(text, finish_reason), spans, finish_reason)

    def _text_of(self, event: TokenEvent) -> tuple[str, FinishReason | None]:
        """Return the text that is certain with this token, and why the reply ends with it, if it does."""
        text = ""
        if event.finish_reason != "stop":
            if event.logprobs is not None:
                self._untold.append(ScoredToken(event.token_id, self._num_characters, event.logprobs))
            text = self.detokenizer.push(event.token_id)
        self._ends.append(self._num_characters + len(text) + self.detokenizer.is_inside_character)
        if event.finish_reason is not None:
            text += self.detokenizer.finish()
        self._num_characters += len(text)
        text = self.stops.push(text)
        if self.stops.matched is not None:
            return text, "stop"
        if event.finish_reason is not None:
            text += self.stops.finish()
        return text, "stop" if event.finish_reason == "complete" else event.finish_reason

    def _tell(self, text: str, finish_reason: FinishReason | None) -> tuple[ScoredToken, ...]:
        """Return the scored tokens that go out with this text."""
        if not text and finish_reason is None:
            return ()
        told, self._untold = tuple(self._untold), []
        return told

    def _show(self, num_characters: int, ready_ns: int, *, is_last: bool) -> None:
        """Stamp the tokens that become whole with so many more characters; with the last token all do."""
        self._num_shown += num_characters
        while self._num_whole < len(self._ends) and (is_last or self._ends[self._num_whole] <= self._num_shown):
            self.tokens.detok_ns[self._num_whole] = ready_ns
            self._num_whole += 1


def _failure(event: Aborted) -> ApiError:
    if event.is_refusal:
        return ApiError(400, event.reason, param="response_format", code="invalid_value")
    return ApiError(500, event.reason, code="generation_failed")


def _span(name: str, start_ns: int, end_ns: int) -> ServerSpan:
    return ServerSpan(name, COMPONENTS[name], start_ns, max(0, end_ns - start_ns))

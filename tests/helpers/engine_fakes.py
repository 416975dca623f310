"""Stand-ins for the model and the clock, so that the engine core runs in microseconds and without torch."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from demo_engine.core.loop import NewToken, StepAbortedError, StepCost
from demo_engine.core.request import EngineRequest, Sampled, Scheduled
from demo_engine.core.step_log import StepTimes

STOP_ID = 0


class FakeClock:
    """A clock that moves one microsecond at each look, and further when told."""

    def __init__(self) -> None:
        self.now_ns = 0

    def __call__(self) -> int:
        self.now_ns += 1_000
        return self.now_ns


class CountingRunner:
    """A model whose next token is a function of all tokens before it, computed through a real block table.

    It stores each token in the slot that its block table names and reads the whole context back from there, so a
    block that two requests share by mistake, or that is lost in a preemption, changes the tokens.
    """

    stop_token_ids = frozenset({STOP_ID})

    def __init__(self, block_size: int, clock: FakeClock | None = None, num_layers: int = 2) -> None:
        self.slots: dict[tuple[int, int], int] = {}
        self.failing_ids: set[str] = set()
        self.proposals: Callable[[EngineRequest, int], list[int]] = lambda request, limit: []
        self.erased_ids: list[int] = []
        self._tables: dict[EngineRequest, list[int]] = {}
        self._block_size = block_size
        self._clock = clock
        self._num_layers = num_layers

    def prepare(self, items: Sequence[Scheduled]) -> Sequence[Scheduled]:
        """Keep the block tables as they are now: a request that is cancelled meanwhile has none."""
        self._tables = {item.request: list(item.request.block_ids) for item in items}
        return items

    def forward(self, batch: Sequence[Scheduled], beat: Callable[[], None]) -> list[list[int]]:
        """Write the new tokens and return what follows the last known one of each request, and each guess."""
        for _ in range(self._num_layers):
            beat()
        for item in batch:
            known = item.request.token_ids(item.start, item.end)
            for position, token in enumerate([*known, *item.request.draft_ids], item.start):
                self.slots[self._slot(item.request, position)] = token
        if self._clock is not None:
            self._clock.now_ns += 1_000_000
        return [
            [self._next(item.request, end) for end in range(item.end - len(item.request.draft_ids), item.end + 1)]
            for item in batch
            if item.samples
        ]

    def propose(self, request: EngineRequest, limit: int) -> list[int]:
        """Guess what the test wants, up to the last token that the request may have."""
        return self.proposals(request, limit)[: max(0, request.sampling.max_tokens - len(request.output_ids) - 1)]

    def sample(self, logits: list[list[int]], requests: Sequence[EngineRequest]) -> list[list[Sampled]]:
        """Return what ``forward`` computed as far as the guesses were right; none for a request that is to fail."""
        return [
            [] if request.id in self.failing_ids else [Sampled(token) for token in self._right(tokens, request)]
            for tokens, request in zip(logits, requests, strict=True)
        ]

    @staticmethod
    def _right(tokens: list[int], request: EngineRequest) -> list[int]:
        num_right = 0
        while tokens[num_right : num_right + 1] == request.draft_ids[num_right : num_right + 1] != []:
            num_right += 1
        return tokens[: num_right + 1]

    def erase(self, block_ids: Sequence[int]) -> None:
        """Keep which blocks were erased."""
        self.erased_ids += block_ids

    def cost(self, items: Sequence[Scheduled]) -> StepCost:
        """Return a cost that tells the items apart."""
        return StepCost(1, sum(item.num_tokens for item in items), 2)

    def _slot(self, request: EngineRequest, position: int) -> tuple[int, int]:
        return self._tables[request][position // self._block_size], position % self._block_size

    def _next(self, request: EngineRequest, end: int) -> int:
        context = [self.slots[self._slot(request, position)] for position in range(end)]
        return next_token(context)


def next_token(context: Sequence[int]) -> int:
    """Return the fake model's answer to a context; never the stop token."""
    return 1 + hash(tuple(context)) % 1000


def expected_tokens(prompt: tuple[int, ...], count: int) -> list[int]:
    """Return what the fake model says to a prompt when it is asked alone."""
    context = list(prompt)
    for _ in range(count):
        context.append(next_token(context))
    return context[len(prompt) :]


def half_right(request: EngineRequest, limit: int) -> list[int]:
    """Guess what the fake model will say, and be wrong from somewhere on, or nowhere, as the tokens so far decide."""
    known = (*request.prompt_ids, *request.output_ids)
    num_right = hash(known) % (limit + 1)
    return [*expected_tokens(known, num_right), *([-1] * (limit - num_right))]


class Collector:
    """Keeps what the loop hands out."""

    def __init__(self) -> None:
        self.tokens_by_id: dict[str, list[int]] = {}
        self.reasons: dict[str, str] = {}
        self.started_ids: list[str] = []
        self.cached_by_id: dict[str, int | None] = {}
        self.failed_ids: list[str] = []
        self.refused_ids: list[str] = []
        self.times: list[StepTimes] = []

    def started(self, requests: Sequence[EngineRequest], start_ns: int) -> None:
        """Keep the ids, and what was found in the cache."""
        self.started_ids += [request.id for request in requests]
        self.cached_by_id |= {request.id: request.num_cached_tokens for request in requests}

    def tokens(self, step: int, times: StepTimes, tokens: Sequence[NewToken], num_computed: int) -> None:
        """Keep the tokens."""
        self.times.append(times)
        for token in tokens:
            self.tokens_by_id.setdefault(token.request_id, []).append(token.token_id)
            if token.finish_reason:
                self.reasons[token.request_id] = token.finish_reason

    def failed(self, request_id: str, reason: str, *, is_refusal: bool = False) -> None:
        """Keep the id."""
        (self.refused_ids if is_refusal else self.failed_ids).append(request_id)


__all__ = [
    "STOP_ID",
    "Collector",
    "CountingRunner",
    "FakeClock",
    "StepAbortedError",
    "expected_tokens",
    "half_right",
    "next_token",
]

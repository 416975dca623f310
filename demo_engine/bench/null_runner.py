"""A model that takes no time, so that what is left of a step is the engine's own work."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from demo_engine.core.loop import NewToken, StepCost
from demo_engine.core.request import EngineRequest, Sampled, Scheduled
from demo_engine.core.step_log import StepTimes

_COST = StepCost(0, 0, 0)
_SAMPLED = [Sampled(1)]


class NullRunner:
    """Answers every request with the same token at once."""

    stop_token_ids: frozenset[int] = frozenset()

    def prepare(self, items: Sequence[Scheduled]) -> None:
        """Lay nothing out."""

    def forward(self, batch: None, beat: Callable[[], None]) -> None:
        """Compute nothing; there is one layer."""
        beat()

    def propose(self, request: EngineRequest, limit: int) -> list[int]:
        """Guess nothing."""
        return []

    def sample(self, logits: None, requests: Sequence[EngineRequest]) -> list[list[Sampled]]:
        """Return the token for each request."""
        return [_SAMPLED] * len(requests)

    def erase(self, block_ids: Sequence[int]) -> None:
        """Have nothing to erase."""

    def cost(self, items: Sequence[Scheduled]) -> StepCost:
        """Return no cost."""
        return _COST


class Finished:
    """Takes what the loop hands out and counts the requests that have ended."""

    def __init__(self) -> None:
        self.count = 0

    def started(self, requests: Sequence[EngineRequest], start_ns: int) -> None:
        """Let it pass."""

    def tokens(self, step: int, times: StepTimes, tokens: Sequence[NewToken], num_computed: int) -> None:
        """Count the last tokens among these."""
        self.count += sum(token.finish_reason is not None for token in tokens)

    def failed(self, request_id: str, reason: str, *, is_refusal: bool = False) -> None:
        """Count it."""
        self.count += 1

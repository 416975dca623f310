"""A request inside the engine, and the part of it that one step computes."""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol

FinishReason = Literal["stop", "length", "cancelled", "error"]
LastTokenReason = Literal["stop", "length", "complete"]
"""Why a token is the last: it is a stop token and no text, it reaches the length, nothing can follow it."""


@dataclass(frozen=True, slots=True)
class SamplingParams:
    """How the next token is chosen, and when to stop. The defaults change nothing."""

    max_tokens: int
    temperature: float = 0.0
    """0 takes the most likely token."""
    seed: int = 0
    ignore_eos: bool = False
    top_k: int = 0
    """Draw from the k most likely tokens; 0 from all."""
    top_p: float = 1.0
    """Draw from the most likely tokens whose shares just reach this sum."""
    min_p: float = 0.0
    """Draw from the tokens whose share is at least this part of the largest share."""
    presence_penalty: float = 0.0
    """Taken off the logit of each token that stands in the output."""
    frequency_penalty: float = 0.0
    """Taken off once for each time it stands there."""
    repetition_penalty: float = 1.0
    """Divides a positive logit, multiplies a negative one, of each token of the prompt or the output."""
    logprobs: int | None = None
    """How many of the most likely tokens to report beside the chosen one; ``None`` reports nothing."""
    json_schema: str | None = None
    """What the output must be, as JSON text."""


@dataclass(frozen=True, slots=True)
class TokenLogprobs:
    """Natural logarithms of the model's own shares, before penalties, temperature and cuts."""

    chosen: float
    top: tuple[tuple[int, float], ...] = ()
    """The most likely tokens and theirs, the largest first."""


class Grammar(Protocol):
    """What one output must be, and how far it has come."""

    failure: str | None
    """Why nothing can be masked any more."""

    def mask(self, logits: Any) -> Any:
        """Return the logits without the tokens that may not come next; ``None`` if that failed."""

    def accept(self, token_id: int) -> bool:
        """Move on by a token; return whether nothing can follow it."""


@dataclass(slots=True, eq=False)
class EngineRequest:
    """A request and its place in the KV cache. The loop writes ``output_ids``, scheduler and block manager the rest."""

    id: str
    prompt_ids: tuple[int, ...]
    sampling: SamplingParams
    output_ids: list[int] = field(default_factory=list)
    draft_ids: list[int] = field(default_factory=list)
    """Guesses at what follows; the present step computes them, and checks them."""
    num_computed_tokens: int = 0
    """Tokens whose keys and values stand in the cache; 0 again after a preemption, or without a KV cache."""
    block_ids: list[int] = field(default_factory=list)
    block_digests: list[bytes] = field(default_factory=list)
    """What its full blocks are found by in the prefix cache, as far as that was needed."""
    num_cached_tokens: int | None = None
    """Tokens that were found in the prefix cache when it first left the queue; ``None`` before that."""
    priority: int = 0
    """Lower is served earlier, under the policy ``priority``."""
    rank: tuple[int, int] = (0, 0)
    """Its place among all requests; the lowest is served first and preempted last."""
    grammar: Grammar | None = None
    """What its output must be; it moves on as the sampler chooses tokens."""

    @property
    def num_tokens(self) -> int:
        """Tokens known so far, prompt and output."""
        return len(self.prompt_ids) + len(self.output_ids)

    def token_ids(self, start: int, end: int) -> list[int]:
        """Return the known tokens from ``start`` up to ``end``."""
        num_prompt = len(self.prompt_ids)
        return [*self.prompt_ids[start:end], *self.output_ids[max(0, start - num_prompt) : max(0, end - num_prompt)]]


rank = operator.attrgetter("rank")
"""Sorts requests."""


class Sampled(NamedTuple):
    """The token that was chosen for a request."""

    token_id: int
    logprobs: TokenLogprobs | None = None
    is_complete: bool = False
    """Whether the request's grammar lets nothing follow it."""
    mask_ns: int = 0
    """Time that the grammar took."""


class Scheduled(NamedTuple):
    """What one step computes of one request: the tokens from ``start`` to ``end``, guesses included."""

    request: EngineRequest
    start: int
    end: int
    samples: bool
    """Whether the step reaches the last known token, so that a new one follows."""
    is_prefill: bool
    """Whether it computes more known tokens than the newest one of the output."""

    @classmethod
    def up_to(cls, request: EngineRequest, end: int) -> Scheduled:
        """Schedule what is not computed yet, up to ``end``."""
        start = request.num_computed_tokens
        num_drafts = len(request.draft_ids)
        is_prefill = end - start - num_drafts > 1 or not request.output_ids
        return cls(request, start, end, end == request.num_tokens + num_drafts, is_prefill)

    @property
    def num_tokens(self) -> int:
        """Tokens computed in the step."""
        return self.end - self.start

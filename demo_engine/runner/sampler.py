"""Choosing the next token of each request, independently of the batch it is in."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from demo_engine.core.request import EngineRequest

_SEED_RANGE = 2**63


def sample(logits: Tensor, requests: Sequence[EngineRequest]) -> list[int]:
    """Return a token for each request: the most likely one, or one drawn at its temperature.

    The draw uses one random number that depends on the request's seed and on how many tokens it has, on nothing else.

    Args:
        logits: ``[num_requests, vocab_size]``.
        requests: In the rows' order.
    """
    tokens: list[int] = torch.argmax(logits, -1).tolist()
    for row, request in enumerate(requests):
        if request.sampling.temperature > 0:
            tokens[row] = _draw(logits[row], request)
    return tokens


def _draw(logits: Tensor, request: EngineRequest) -> int:
    generator = torch.Generator()
    generator.manual_seed((request.sampling.seed * 1_000_003 + len(request.output_ids)) % _SEED_RANGE)
    uniform = torch.rand(1, generator=generator, dtype=torch.float64)
    shares = torch.softmax(logits.double() / request.sampling.temperature, -1).cumsum(-1)
    index = int(torch.searchsorted(shares, uniform * shares[-1], right=True))
    return min(index, logits.shape[-1] - 1)

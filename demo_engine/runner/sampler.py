"""Choosing the next token of each request, independently of the batch it is in."""

from __future__ import annotations

import time
from collections.abc import Sequence

import torch
from torch import Tensor

from demo_engine.core.request import EngineRequest, Sampled, SamplingParams, TokenLogprobs

_SEED_RANGE = 2**63


def sample(logits: Tensor, requests: Sequence[EngineRequest]) -> list[Sampled | None]:
    """Return a token for each request: the most likely one, or one drawn at its temperature.

    Each row is handled alone. A draw uses one random number, which depends on the request's seed and on how many
    tokens it has, on nothing else.

    Args:
        logits: ``[num_requests, vocab_size]``.
        requests: In the rows' order.

    Returns:
        ``None`` for a row that holds NaN, or no largest number, or whose grammar failed.
    """
    largest, greedy = logits.max(-1)
    finite: list[bool] = torch.isfinite(largest).tolist()
    tokens: list[int] = greedy.tolist()
    return [
        _sample_row(logits[row], request, tokens[row]) if finite[row] else None for row, request in enumerate(requests)
    ]


def _sample_row(logits: Tensor, request: EngineRequest, greedy: int) -> Sampled | None:
    if request.grammar is None:
        token_id = _choose(logits, request, greedy)
        return Sampled(token_id, _logprobs(logits, token_id, request.sampling.logprobs))
    start_ns = time.perf_counter_ns()
    masked = request.grammar.mask(logits)
    if masked is None:
        return None
    masked_ns = time.perf_counter_ns()
    token_id = _choose(masked, request, int(masked.argmax()))
    chosen_ns = time.perf_counter_ns()
    is_complete = request.grammar.accept(token_id)
    mask_ns = masked_ns - start_ns + time.perf_counter_ns() - chosen_ns
    return Sampled(token_id, _logprobs(logits, token_id, request.sampling.logprobs), is_complete, mask_ns)


def _choose(logits: Tensor, request: EngineRequest, greedy: int) -> int:
    """Return the next token; ``greedy`` is the most likely one before penalties."""
    penalised = _penalise(logits, request)
    if request.sampling.temperature > 0:
        return _draw(_shares(penalised, request.sampling), request)
    return greedy if penalised is logits else int(penalised.argmax())


def _penalise(logits: Tensor, request: EngineRequest) -> Tensor:
    """Return the logits after the penalties: repetition over prompt and output, the other two over the output."""
    sampling, output_ids = request.sampling, request.output_ids
    repetition, presence, frequency = (
        sampling.repetition_penalty, sampling.presence_penalty, sampling.frequency_penalty,
    )  # fmt: skip
    if repetition == 1 and presence == 0 and frequency == 0:
        return logits
    logits = logits.clone()
    seen = torch.tensor(sorted({*request.prompt_ids, *output_ids}), device=logits.device)
    logits[seen] = torch.where(logits[seen] > 0, logits[seen] / repetition, logits[seen] * repetition)
    if output_ids:
        counts = torch.tensor(output_ids, device=logits.device).bincount(minlength=logits.shape[-1])
        logits -= frequency * counts + presence * (counts > 0)
    return logits


def _shares(logits: Tensor, sampling: SamplingParams) -> Tensor:
    """Return each token's share at the temperature, 0 for those that top-k, top-p and min-p leave out."""
    scaled = logits.double() / sampling.temperature
    if 0 < sampling.top_k < len(scaled):
        scaled = torch.where(scaled < scaled.topk(sampling.top_k).values[-1], -torch.inf, scaled)
    shares = torch.softmax(scaled, -1)
    if sampling.top_p < 1:
        ordered = shares.sort(descending=True)
        enough = ordered.values.cumsum(-1) >= sampling.top_p
        shares = shares.index_fill(0, ordered.indices[1:][enough[:-1]], 0)  # the token that reaches the sum stays
    if sampling.min_p > 0:
        shares = torch.where(shares < sampling.min_p * shares.max(), 0, shares)
    return shares


def _draw(shares: Tensor, request: EngineRequest) -> int:
    generator = torch.Generator()
    generator.manual_seed((request.sampling.seed * 1_000_003 + len(request.output_ids)) % _SEED_RANGE)
    uniform = torch.rand(1, generator=generator, dtype=torch.float64).to(shares.device)
    sums = shares.cumsum(-1)
    index = int(torch.searchsorted(sums, uniform * sums[-1], right=True))
    return min(index, int(shares.nonzero()[-1]))


def _logprobs(logits: Tensor, token_id: int, num_top: int | None) -> TokenLogprobs | None:
    """Return the model's own shares, whatever was masked, or nothing if they were not asked for."""
    if num_top is None:
        return None
    logarithms = torch.log_softmax(logits.double(), -1)
    top = logarithms.topk(min(num_top, len(logarithms)))
    pairs = zip(top.indices.tolist(), top.values.tolist(), strict=True)
    return TokenLogprobs(float(logarithms[token_id]), tuple(pairs))

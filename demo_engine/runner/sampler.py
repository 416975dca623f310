"""Choosing the next token of each request, independently of the batch it is in."""

from __future__ import annotations

import time
from collections.abc import Sequence

import torch
from torch import Tensor

from demo_engine.core.request import EngineRequest, Sampled, SamplingParams, TokenLogprobs

_SEED_RANGE = 2**63


def sample(logits: Tensor, requests: Sequence[EngineRequest]) -> list[list[Sampled]]:
    """Return the next token of each request: the most likely one, or one drawn at its temperature.

    Each row is handled alone. A draw uses one random number, which depends on the request's seed and on how many
    tokens it has, on nothing else.

    A request with guesses has a row for each of them, which holds if the guess is right. A guess is right if it is the
    token that is chosen anyway; then the one behind it is chosen too. So every token is what it would be without
    guesses, as long as the logits' bits do not depend on how many rows a step has. In terms of shares: of a guess x
    with share p(x) just p(x) of the draws accept it, and the others are spread like p without x.

    Args:
        logits: ``[num_requests and their guesses, vocab_size]``.
        requests: In the rows' order.

    Returns:
        No token for a request with a row that holds NaN, or no largest number, or whose grammar failed.
    """
    largest, greedy = logits.max(-1)
    finite: list[bool] = torch.isfinite(largest).tolist()
    tokens: list[int] = greedy.tolist()
    chosen: list[list[Sampled]] = []
    first = 0
    for request in requests:
        rows = slice(first, first + 1 + len(request.draft_ids))
        chosen.append(_sample_rows(logits[rows], request, tokens[rows]) if all(finite[rows]) else [])
        first = rows.stop
    return chosen


def _sample_rows(logits: Tensor, request: EngineRequest, greedy: Sequence[int]) -> list[Sampled]:
    """Return a token from each row up to the first that was not guessed."""
    chosen: list[Sampled] = []
    output_ids = request.output_ids
    for row, most_likely in enumerate(greedy):
        sampled = _sample_row(logits[row], request, output_ids, most_likely)
        if sampled is None:
            break
        chosen.append(sampled)
        if sampled.is_complete or [sampled.token_id] != request.draft_ids[row : row + 1]:
            break
        output_ids = [*output_ids, sampled.token_id]
    return chosen


def _sample_row(logits: Tensor, request: EngineRequest, output_ids: Sequence[int], greedy: int) -> Sampled | None:
    """Return the token that follows the output; ``None`` if the grammar failed."""
    if request.grammar is None:
        token_id = _choose(logits, request, output_ids, greedy)
        return Sampled(token_id, _logprobs(logits, token_id, request.sampling.logprobs))
    start_ns = time.perf_counter_ns()
    masked = request.grammar.mask(logits)
    if masked is None:
        return None
    masked_ns = time.perf_counter_ns()
    token_id = _choose(masked, request, output_ids, int(masked.argmax()))
    chosen_ns = time.perf_counter_ns()
    is_complete = request.grammar.accept(token_id)
    mask_ns = masked_ns - start_ns + time.perf_counter_ns() - chosen_ns
    return Sampled(token_id, _logprobs(logits, token_id, request.sampling.logprobs), is_complete, mask_ns)


def _choose(logits: Tensor, request: EngineRequest, output_ids: Sequence[int], greedy: int) -> int:
    """Return the next token; ``greedy`` is the most likely one before penalties."""
    penalised = _penalise(logits, request, output_ids)
    if request.sampling.temperature > 0:
        return _draw(_shares(penalised, request.sampling), request.sampling.seed, len(output_ids))
    return greedy if penalised is logits else int(penalised.argmax())


def _penalise(logits: Tensor, request: EngineRequest, output_ids: Sequence[int]) -> Tensor:
    """Return the logits after the penalties: repetition over prompt and output, the other two over the output."""
    sampling = request.sampling
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


def _draw(shares: Tensor, seed: int, position: int) -> int:
    generator = torch.Generator()
    generator.manual_seed((seed * 1_000_003 + position) % _SEED_RANGE)
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

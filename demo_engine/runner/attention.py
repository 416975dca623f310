"""Causal attention of one request over its gathered blocks, in tiles of fixed size.

The tiles do two things. A tile of queries stops at its own last key, which halves a prompt's work. And every sum over
keys runs in pieces of ``KEY_TILE`` keys from the first key on, so that its bits do not depend on how many keys follow
in the buffer: the same token gives the same result in a whole prompt, in any chunk of it, and alone.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

KEY_TILE = 64
QUERY_TILE = 64
MIN_ROWS = 4  # below this, matrix products take other kernels, whose last bits differ


def causal_masks(start: int, num_tokens: int, group: int, device: torch.device) -> list[Tensor]:
    """Return, for each tile of queries, which keys from its first token on come after which query.

    Every layer of a step uses the same masks.

    Args:
        start: Position of the first query.
        num_tokens: How many queries there are.
        group: Query heads that share a key head.
        device: Where they are needed.
    """
    return [
        _causal_mask(start + first, min(QUERY_TILE, num_tokens - first), group, device)
        for first in range(0, num_tokens, QUERY_TILE)
    ]


def _causal_mask(start: int, num_tokens: int, group: int, device: torch.device) -> Tensor:
    positions = torch.arange(start, _num_tiles(start + num_tokens) * KEY_TILE, device=device)
    return positions > positions[:num_tokens].repeat_interleave(group)[:, None]


def attend(queries: Tensor, keys: Tensor, values: Tensor, start: int, masks: list[Tensor]) -> Tensor:
    """Attend from new tokens to all tokens up to and including themselves.

    Args:
        queries: ``[num_tokens, num_heads, head_dim]``, scaled by 1 / √head_dim.
        keys: ``[num_kv_heads, num_keys, head_dim]``; ``num_keys`` is a multiple of ``KEY_TILE`` that covers the
            tokens, what lies beyond them is masked.
        values: Like ``keys``.
        start: Position of the first query.
        masks: What :func:`causal_masks` returns for them.

    Returns:
        ``[num_tokens, num_heads * head_dim]``.
    """
    tiles = [
        _attend_tile(queries[first : first + QUERY_TILE], keys, values, start + first, mask)
        for first, mask in zip(range(0, queries.shape[0], QUERY_TILE), masks, strict=True)
    ]
    return torch.cat(tiles) if len(tiles) > 1 else tiles[0]


def attend_one(query: Tensor, keys: Tensor, values: Tensor, num_keys: int) -> Tensor:
    """Attend from the last token to all tokens at once, for whom other bits will do: nothing is padded or masked.

    Args:
        query: ``[1, num_heads, head_dim]``, scaled by 1 / √head_dim.
        keys: ``[num_kv_heads, at least num_keys, head_dim]``.
        values: Like ``keys``.
        num_keys: How many tokens there are.

    Returns:
        ``[1, num_heads * head_dim]``.
    """
    scores = torch.bmm(query.reshape(keys.shape[0], -1, query.shape[-1]), keys[:, :num_keys].transpose(1, 2))
    return torch.bmm(torch.softmax(scores, -1), values[:, :num_keys]).view(1, -1)


def _num_tiles(num_keys: int) -> int:
    return -(-num_keys // KEY_TILE)


def _attend_tile(queries: Tensor, keys: Tensor, values: Tensor, start: int, mask: Tensor) -> Tensor:
    num_tokens, num_heads, head_dim = queries.shape
    num_kv_heads = keys.shape[0]
    group = num_heads // num_kv_heads  # query heads that share a key head
    num_rows = num_tokens * group
    num_tiles = _num_tiles(start + num_tokens)
    num_keys = num_tiles * KEY_TILE

    rows = queries.view(num_tokens, num_kv_heads, group, head_dim).transpose(0, 1).reshape(num_kv_heads, -1, head_dim)
    if num_rows < MIN_ROWS:
        rows = functional.pad(rows, (0, 0, 0, MIN_ROWS - num_rows))
    scores = torch.bmm(rows, keys[:, :num_keys].transpose(1, 2))
    scores[:, :num_rows, start:].masked_fill_(mask, float("-inf"))
    shares = torch.softmax(scores, -1).view(num_kv_heads, -1, num_tiles, KEY_TILE).transpose(1, 2)
    mixed = torch.matmul(shares, values[:, :num_keys].view(num_kv_heads, num_tiles, KEY_TILE, head_dim)).sum(1)
    mixed = mixed[:, :num_rows].view(num_kv_heads, num_tokens, group, head_dim).transpose(0, 1)
    return mixed.reshape(num_tokens, num_heads * head_dim)

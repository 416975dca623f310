"""The paged KV cache: one pool of blocks a layer for keys and one for values."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from demo_engine.runner.shape import ModelShape


@dataclass(frozen=True)
class KVCache:
    """Keys and values of all layers, block by block."""

    keys: list[Tensor]
    """A layer: ``[num_blocks, block_size, num_kv_heads, head_dim]``, float32."""
    values: list[Tensor]
    block_size: int

    @classmethod
    def allocate(cls, shape: ModelShape, num_blocks: int, block_size: int, device: str = "cpu") -> KVCache:
        """Reserve the pool; on the CPU the operating system fills in pages as they are first written."""
        size = (num_blocks, block_size, shape.num_kv_heads, shape.head_dim)
        pools = [[torch.zeros(size, device=device) for _ in range(shape.num_layers)] for _ in range(2)]
        return cls(pools[0], pools[1], block_size)

    def write(self, layer: int, slots: Tensor, keys: Tensor, values: Tensor) -> None:
        """Store the keys and values of new tokens.

        Args:
            layer: Which layer.
            slots: ``[num_tokens]``, int64: block · block size + offset in the block.
            keys: ``[num_tokens, num_kv_heads, head_dim]``.
            values: Like ``keys``.
        """
        self.keys[layer].flatten(0, 1).index_copy_(0, slots, keys)
        self.values[layer].flatten(0, 1).index_copy_(0, slots, values)

    def erase(self, blocks: Tensor) -> None:
        """Fill blocks with zeros in all layers."""
        for pool in (*self.keys, *self.values):
            pool.index_fill_(0, blocks, 0)

    def gather(self, layer: int, blocks: Tensor) -> tuple[Tensor, Tensor]:
        """Return keys and values of the blocks, as ``[num_kv_heads, num_blocks * block_size, head_dim]``."""
        keys = self.keys[layer].index_select(0, blocks).flatten(0, 1)
        values = self.values[layer].index_select(0, blocks).flatten(0, 1)
        return keys.transpose(0, 1), values.transpose(0, 1)

"""The paged KV cache: one pool of blocks a layer, keys and values of a token side by side."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from demo_engine.runner.shape import ModelShape


@dataclass(frozen=True)
class KVCache:
    """Keys and values of all layers, block by block."""

    layers: list[Tensor]
    """A layer: ``[num_blocks, block_size, 2 * num_kv_heads, head_dim]``, float32; key heads before value heads, so that
    both are written, and read, by one operation."""

    @classmethod
    def allocate(cls, shape: ModelShape, num_blocks: int, block_size: int, device: str = "cpu") -> KVCache:
        """Reserve the pool; on the CPU the operating system fills in pages as they are first written."""
        size = (num_blocks, block_size, 2 * shape.num_kv_heads, shape.head_dim)
        return cls([torch.zeros(size, device=device) for _ in range(shape.num_layers)])

    def write(self, layer: int, slots: Tensor, keys_values: Tensor) -> None:
        """Store the keys and values of new tokens.

        Args:
            layer: Which layer.
            slots: ``[num_tokens]``, int64: block · block size + offset in the block.
            keys_values: ``[num_tokens, 2 * num_kv_heads, head_dim]``.
        """
        self.layers[layer].flatten(0, 1).index_copy_(0, slots, keys_values)

    def erase(self, blocks: Tensor) -> None:
        """Fill blocks with zeros in all layers."""
        for pool in self.layers:
            pool.index_fill_(0, blocks, 0)

    def gather(self, layer: int, blocks: Tensor) -> tuple[Tensor, Tensor]:
        """Return keys and values of the blocks, as ``[num_kv_heads, num_blocks * block_size, head_dim]``."""
        keys, values = self.layers[layer].index_select(0, blocks).flatten(0, 1).transpose(0, 1).chunk(2)
        return keys, values

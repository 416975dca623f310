"""The runner that the engine loop drives: scheduled items in, tokens out."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from torch import Tensor

from demo_engine.core.config import EngineConfig
from demo_engine.core.loop import StepCost
from demo_engine.core.request import EngineRequest, Scheduled
from demo_engine.runner.attention import KEY_TILE
from demo_engine.runner.decoder import Batch, Decoder, Segment
from demo_engine.runner.kv_cache import KVCache
from demo_engine.runner.sampler import sample
from demo_engine.runner.shape import ModelShape


class TorchRunner:
    """A decoder with its KV cache."""

    def __init__(self, folder: Path, config: EngineConfig) -> None:
        self.shape = ModelShape.from_config(json.loads((folder / "config.json").read_text()))
        self.stop_token_ids = frozenset(self.shape.eos_token_ids)
        self._block_size = config.block_size
        self._decoder = Decoder(self.shape, folder / "model.safetensors")
        self._cache = KVCache.allocate(self.shape, config.num_kv_blocks, config.block_size)

    def prepare(self, items: Sequence[Scheduled]) -> Batch:
        """Lay the items' tokens out one after the other."""
        token_ids: list[int] = []
        positions: list[int] = []
        slots: list[int] = []
        segments: list[Segment] = []
        sampled_rows: list[int] = []
        for item in items:
            request, size = item.request, self._block_size
            segments.append(
                Segment(len(token_ids), item.num_tokens, item.start, self._whole_tiles(request.block_ids, item.end))
            )
            token_ids += request.token_ids(item.start, item.end)
            positions += range(item.start, item.end)
            slots += [request.block_ids[p // size] * size + p % size for p in range(item.start, item.end)]
            if item.samples:
                sampled_rows.append(len(token_ids) - 1)
        return Batch(
            torch.tensor(token_ids), torch.tensor(positions), torch.tensor(slots), segments,
            torch.tensor(sampled_rows, dtype=torch.int64),
        )  # fmt: skip

    def forward(self, batch: Batch, beat: Callable[[], None]) -> Tensor:
        """Compute a batch; logits of the requests that sample."""
        return self._decoder.forward(batch, self._cache, beat)

    def sample(self, logits: Tensor, requests: Sequence[EngineRequest]) -> list[int]:
        """Choose the next token of each request."""
        return sample(logits, requests)

    def cost(self, items: Sequence[Scheduled]) -> StepCost:
        """Return what the step must at least read and compute."""
        return self.shape.step_cost(items)

    def _whole_tiles(self, block_ids: list[int], num_tokens: int) -> Tensor:
        """Return the blocks that hold ``num_tokens`` tokens, filled up to whole key tiles with a block of their own.

        What stands in the filling is masked.
        """
        num_blocks = -(-num_tokens // KEY_TILE) * KEY_TILE // self._block_size
        blocks = block_ids[:num_blocks]
        return torch.tensor(blocks + [blocks[0]] * (num_blocks - len(blocks)))

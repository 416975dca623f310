"""The runner that the engine loop drives: scheduled items in, tokens out."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from torch import Tensor

from demo_engine.core.config import EngineConfig
from demo_engine.core.loop import StepCost
from demo_engine.core.request import EngineRequest, Sampled, Scheduled
from demo_engine.errors import EnvironmentLackError, UsageError
from demo_engine.runner.attention import KEY_TILE
from demo_engine.runner.decoder import Batch, Decoder, Segment
from demo_engine.runner.int8 import can_multiply_int8
from demo_engine.runner.kv_cache import KVCache
from demo_engine.runner.ngram import guess_next
from demo_engine.runner.quantization import Quantization
from demo_engine.runner.sampler import sample
from demo_engine.runner.shape import ModelShape


class TorchRunner:
    """A decoder with its KV cache.

    On a GPU the forward pass returns before it is computed; the step then waits in ``sample``, which needs the
    result. With ``synchronize_steps`` it waits in ``forward``, so that the two times mean what their names say.
    """

    def __init__(self, folder: Path, config: EngineConfig) -> None:
        self._device = _usable(config.device)
        if KEY_TILE % config.block_size:
            raise UsageError(f"block size {config.block_size}: it must divide {KEY_TILE}")
        self.shape = ModelShape.from_config(json.loads((folder / "config.json").read_text()))
        self.stop_token_ids = frozenset(self.shape.eos_token_ids)
        self._block_size = config.block_size
        self._lookup = config.prompt_lookup_max, config.prompt_lookup_min
        self._synchronize = config.synchronize_steps and config.device == "cuda"
        self._quantization = _possible(config.quantization, self._device)
        self._decoder = Decoder(
            self.shape, folder / "model.safetensors", self._device,
            batch_invariant=config.batch_invariant, quantization=self._quantization,
        )  # fmt: skip
        self._cache = KVCache.allocate(self.shape, config.num_kv_blocks, config.block_size, self._device)

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
            token_ids += [*request.token_ids(item.start, item.end), *request.draft_ids]
            positions += range(item.start, item.end)
            slots += [request.block_ids[p // size] * size + p % size for p in range(item.start, item.end)]
            if item.samples:
                sampled_rows += range(len(token_ids) - 1 - len(request.draft_ids), len(token_ids))
        return Batch(
            self._tensor(token_ids), self._tensor(positions), self._tensor(slots), segments, self._tensor(sampled_rows)
        )

    def forward(self, batch: Batch, beat: Callable[[], None]) -> Tensor:
        """Compute a batch; logits of the requests that sample."""
        logits = self._decoder.forward(batch, self._cache, beat)
        if self._synchronize:
            torch.cuda.synchronize()
        return logits

    def propose(self, request: EngineRequest, limit: int) -> list[int]:
        """Guess what follows from what stands before; no more than can be put out beside the token that is certain."""
        limit = min(limit, request.sampling.max_tokens - len(request.output_ids) - 1)
        known = [*request.prompt_ids, *request.output_ids]
        return guess_next(known, limit, *self._lookup) if limit > 0 else []

    @torch.inference_mode()
    def sample(self, logits: Tensor, requests: Sequence[EngineRequest]) -> list[list[Sampled]]:
        """Choose the next tokens of each request."""
        return sample(logits, requests) if requests else []

    def erase(self, block_ids: Sequence[int]) -> None:
        """Fill blocks with zeros."""
        self._cache.erase(self._tensor(block_ids))

    def cost(self, items: Sequence[Scheduled]) -> StepCost:
        """Return what the step must at least read and compute."""
        return self.shape.step_cost(items, self._quantization)

    def _whole_tiles(self, block_ids: list[int], num_tokens: int) -> Tensor:
        """Return the blocks that hold ``num_tokens`` tokens, filled up to whole key tiles with a block of their own.

        What stands in the filling is masked.
        """
        num_blocks = -(-num_tokens // KEY_TILE) * KEY_TILE // self._block_size
        blocks = block_ids[:num_blocks]
        return self._tensor(blocks + [blocks[0]] * (num_blocks - len(blocks)))

    def _tensor(self, numbers: Sequence[int]) -> Tensor:
        return torch.tensor(numbers, dtype=torch.int64, device=self._device)


def _usable(device: str) -> str:
    """Return the device.

    Raises:
        EnvironmentLackError: It is not here.
    """
    if device == "cuda" and not torch.cuda.is_available():
        raise EnvironmentLackError("no CUDA device can be used here; leave out --device cuda")
    return device


def _possible(quantization: Quantization, device: str) -> Quantization:
    """Return the quantization.

    Raises:
        UsageError: It is for the CPU, and the model runs elsewhere.
        EnvironmentLackError: This processor, or this build of torch, cannot do it.
    """
    if quantization == "none":
        return quantization
    if device != "cpu":
        raise UsageError(f"--quantization {quantization} is for the CPU; leave out --device {device}")
    if not can_multiply_int8():
        raise EnvironmentLackError(f"this build of torch has no int8 products; leave out --quantization {quantization}")
    return quantization

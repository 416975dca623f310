"""The decoder: embedding, layers, logits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import safe_open
from torch import Tensor
from torch.nn import functional

from demo_engine.runner.attention import attend, causal_masks
from demo_engine.runner.kv_cache import KVCache
from demo_engine.runner.linear import Linear, make_linear
from demo_engine.runner.shape import ModelShape


@dataclass(frozen=True, slots=True)
class Segment:
    """The rows of a batch that belong to one request."""

    first_row: int
    num_rows: int
    start: int
    """Position of the first of them."""
    blocks: Tensor
    """int64: the request's blocks, filled up to whole key tiles."""


@dataclass(frozen=True, slots=True)
class Batch:
    """The tokens of a step, all requests one after the other."""

    token_ids: Tensor
    """``[num_tokens]``, int64."""
    positions: Tensor
    slots: Tensor
    """Where each token's keys and values go in the cache."""
    segments: list[Segment]
    sampled_rows: Tensor
    """Rows whose next token is wanted."""


@dataclass(frozen=True)
class _Layer:
    attention_norm: Tensor
    qkv: Linear
    output: Linear
    mlp_norm: Tensor
    gate_up: Linear
    down: Linear


class Decoder:
    """A Llama-type decoder with float32 weights.

    Args:
        shape: Its dimensions.
        weights_file: safetensors.
        device: Where it runs.
        batch_invariant: Whether a row's bits must not depend on the batch.
    """

    def __init__(
        self, shape: ModelShape, weights_file: Path, device: str = "cpu", *, batch_invariant: bool = True
    ) -> None:
        self.shape = shape
        with safe_open(weights_file, framework="pt", device=device) as file:

            def load(name: str) -> Tensor:
                tensor: Tensor = file.get_tensor(f"{name}.weight")
                return tensor.float()

            def linear(weight: Tensor) -> Linear:
                return make_linear(weight, batch_invariant=batch_invariant)

            self._embedding = load("model.embed_tokens")
            self._norm = load("model.norm")
            self._layers = [_load_layer(load, linear, f"model.layers.{index}") for index in range(shape.num_layers)]
            self._head = linear(self._embedding if shape.tied_embeddings else load("lm_head"))
        self._cos, self._sin = (table.to(device) for table in _rotary_tables(shape))

    @torch.inference_mode()
    def forward(self, batch: Batch, cache: KVCache, beat: Callable[[], None]) -> Tensor:
        """Compute the batch, write its keys and values, and return ``[num_sampled, vocab_size]`` logits.

        ``beat`` is called before each layer; what it raises ends the step.
        """
        hidden = self._embedding.index_select(0, batch.token_ids)
        cos, sin = self._cos[batch.positions].unsqueeze(1), self._sin[batch.positions].unsqueeze(1)
        group = self.shape.num_heads // self.shape.num_kv_heads
        masks = [causal_masks(s.start, s.num_rows, group, hidden.device) for s in batch.segments]
        for index, layer in enumerate(self._layers):
            beat()
            normed = self._rms_norm(hidden, layer.attention_norm)
            queries = self._write_keys(index, layer.qkv(normed), cos, sin, batch, cache)
            hidden = hidden + layer.output(self._attention(index, queries, masks, batch, cache))
            gate, up = layer.gate_up(self._rms_norm(hidden, layer.mlp_norm)).chunk(2, -1)
            hidden = hidden + layer.down(functional.silu(gate) * up)
        beat()
        return self._head(self._rms_norm(hidden.index_select(0, batch.sampled_rows), self._norm))

    def _write_keys(self, index: int, qkv: Tensor, cos: Tensor, sin: Tensor, batch: Batch, cache: KVCache) -> Tensor:
        """Write a layer's keys and values into the cache, and return its scaled queries."""
        shape = self.shape
        turned, values = torch.split(qkv, [shape.query_size + shape.kv_size, shape.kv_size], -1)
        turned = _rotate(turned.reshape(-1, shape.num_heads + shape.num_kv_heads, shape.head_dim), cos, sin)
        keys = turned[:, shape.num_heads :]
        cache.write(index, batch.slots, keys, values.reshape(-1, shape.num_kv_heads, shape.head_dim))
        queries: Tensor = turned[:, : shape.num_heads] * shape.head_dim**-0.5
        return queries

    def _attention(
        self, index: int, queries: Tensor, masks: list[list[Tensor]], batch: Batch, cache: KVCache
    ) -> Tensor:
        mixed = [
            attend(queries[s.first_row : s.first_row + s.num_rows], *cache.gather(index, s.blocks), s.start, mask)
            for s, mask in zip(batch.segments, masks, strict=True)
        ]
        return torch.cat(mixed) if len(mixed) > 1 else mixed[0]

    def _rms_norm(self, rows: Tensor, weight: Tensor) -> Tensor:
        # As a sum and in place: `mean` alone takes five times as long on one row.
        mean_square = (rows * rows).sum(-1, keepdim=True).mul_(1 / rows.shape[-1])
        return rows * mean_square.add_(self.shape.rms_norm_eps).rsqrt_() * weight


def _load_layer(load: Callable[[str], Tensor], linear: Callable[[Tensor], Linear], prefix: str) -> _Layer:
    attention, mlp = f"{prefix}.self_attn", f"{prefix}.mlp"
    return _Layer(
        attention_norm=load(f"{prefix}.input_layernorm"),
        qkv=linear(torch.cat([load(f"{attention}.{part}_proj") for part in "qkv"])),
        output=linear(load(f"{attention}.o_proj")),
        mlp_norm=load(f"{prefix}.post_attention_layernorm"),
        gate_up=linear(torch.cat([load(f"{mlp}.gate_proj"), load(f"{mlp}.up_proj")])),
        down=linear(load(f"{mlp}.down_proj")),
    )


def _rotary_tables(shape: ModelShape) -> tuple[Tensor, Tensor]:
    """Return cosine and sine of every position's angles, ``[max_position_embeddings, head_dim]`` each."""
    exponents = torch.arange(0, shape.head_dim, 2, dtype=torch.float32) / shape.head_dim
    frequencies = 1.0 / (shape.rope_theta**exponents)
    angles = torch.arange(shape.max_position_embeddings, dtype=torch.float32)[:, None] * frequencies
    angles = torch.cat((angles, angles), -1)
    return angles.cos(), angles.sin()


def _rotate(heads: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Turn each pair (i, i + head_dim / 2) of ``[num_tokens, num_heads, head_dim]`` by its position's angle."""
    first, second = heads.chunk(2, -1)
    return heads * cos + torch.cat((-second, first), -1) * sin

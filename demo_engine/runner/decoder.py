"""The decoder: embedding, layers, logits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import safe_open
from torch import Tensor
from torch.nn import functional

from demo_engine.runner.attention import attend, attend_one, causal_masks
from demo_engine.runner.kv_cache import KVCache
from demo_engine.runner.linear import Linear, make_linear
from demo_engine.runner.quantization import Quantization
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
    """A Llama-type decoder with float32 weights, or with the matrices of its linear layers in int8.

    Args:
        shape: Its dimensions.
        weights_file: safetensors.
        device: Where it runs.
        batch_invariant: Whether a row's bits must not depend on the batch.
        quantization: In which arithmetic its linear layers are multiplied.
    """

    def __init__(
        self,
        shape: ModelShape,
        weights_file: Path,
        device: str = "cpu",
        *,
        batch_invariant: bool = True,
        quantization: Quantization = "none",
    ) -> None:
        self.shape = shape
        self._batch_invariant = batch_invariant
        with safe_open(weights_file, framework="pt", device=device) as file:

            def load(name: str) -> Tensor:
                tensor: Tensor = file.get_tensor(f"{name}.weight")
                return tensor.float()

            def linear(weight: Tensor) -> Linear:
                return make_linear(weight, batch_invariant=batch_invariant, quantization=quantization)

            self._embedding = load("model.embed_tokens")
            self._norm = load("model.norm")
            self._layers = [_load_layer(load, linear, f"model.layers.{index}") for index in range(shape.num_layers)]
            self._head = linear(self._embedding if shape.tied_embeddings else load("lm_head"))
        self._cos, self._sin = _rotary_tables(shape, device)
        self._turned, self._left = _head_factors(shape, device)

    @torch.inference_mode()
    def forward(self, batch: Batch, cache: KVCache, beat: Callable[[], None]) -> Tensor:
        """Compute the batch, write its keys and values, and return ``[num_sampled, vocab_size]`` logits.

        ``beat`` is called before each layer; what it raises ends the step.
        """
        hidden = self._embedding.index_select(0, batch.token_ids)
        cos = self._cos[batch.positions] * self._turned + self._left
        sin = self._sin[batch.positions] * self._turned
        group = self.shape.num_heads // self.shape.num_kv_heads
        masks = [
            [] if self._is_fast(s) else causal_masks(s.start, s.num_rows, group, hidden.device) for s in batch.segments
        ]
        for index, layer in enumerate(self._layers):
            beat()
            normed = self._rms_norm(hidden, layer.attention_norm)
            queries = self._write_keys(index, layer.qkv(normed), cos, sin, batch, cache)
            hidden = layer.output(self._attention(index, queries, masks, batch, cache), hidden)
            gate, up = layer.gate_up(self._rms_norm(hidden, layer.mlp_norm)).chunk(2, -1)
            hidden = layer.down(functional.silu(gate) * up, hidden)
        beat()
        return self._head(self._rms_norm(hidden.index_select(0, batch.sampled_rows), self._norm))

    def _is_fast(self, segment: Segment) -> bool:
        """Whether it is one token whose bits may depend on the batch."""
        return segment.num_rows == 1 and not self._batch_invariant

    def _write_keys(self, index: int, qkv: Tensor, cos: Tensor, sin: Tensor, batch: Batch, cache: KVCache) -> Tensor:
        """Write a layer's keys and values into the cache, and return its scaled queries."""
        heads = qkv.view(qkv.shape[0], -1, self.shape.head_dim)
        turned = heads * cos + heads.roll(self.shape.head_dim // 2, -1) * sin
        cache.write(index, batch.slots, turned[:, self.shape.num_heads :])
        return turned[:, : self.shape.num_heads]

    def _attention(
        self, index: int, queries: Tensor, masks: list[list[Tensor]], batch: Batch, cache: KVCache
    ) -> Tensor:
        mixed = []
        for segment, mask in zip(batch.segments, masks, strict=True):
            own = queries[segment.first_row : segment.first_row + segment.num_rows]
            keys, values = cache.gather(index, segment.blocks)
            if self._is_fast(segment):
                mixed.append(attend_one(own, keys, values, segment.start + 1))
            else:
                mixed.append(attend(own, keys, values, segment.start, mask))
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


def _rotary_tables(shape: ModelShape, device: str) -> tuple[Tensor, Tensor]:
    """Return cosine and sine of every position's angles, ``[max_position_embeddings, 1, head_dim]`` each.

    The sines carry the sign with which the other half of a head comes in.
    """
    exponents = torch.arange(0, shape.head_dim, 2, dtype=torch.float32) / shape.head_dim
    frequencies = 1.0 / (shape.rope_theta**exponents)
    angles = torch.arange(shape.max_position_embeddings, dtype=torch.float32)[:, None, None] * frequencies
    cos, sin = angles.cos(), angles.sin()
    return torch.cat((cos, cos), -1).to(device), torch.cat((-sin, sin), -1).to(device)


def _head_factors(shape: ModelShape, device: str) -> tuple[Tensor, Tensor]:
    """Return, for each head of query, key and value, how much of it is turned, and how much is left as it is.

    Queries are scaled on the way by 1 / √head_dim, and values are not turned at all.
    """
    heads = (shape.num_heads, shape.num_kv_heads, shape.num_kv_heads)
    turned, left = (
        torch.tensor([[factor] for factor, count in zip(factors, heads, strict=True) for _ in range(count)])
        for factors in ((shape.head_dim**-0.5, 1.0, 0.0), (0.0, 0.0, 1.0))
    )
    return turned.to(device), left.to(device)

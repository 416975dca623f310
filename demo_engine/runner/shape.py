"""The shape of a Llama-type model, and what a step on it costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from demo_engine.core.loop import StepCost
from demo_engine.core.request import Scheduled
from demo_engine.errors import UsageError
from demo_engine.runner.quantization import BYTES_PER_WEIGHT, Quantization

FLOAT_BYTES = 4


@dataclass(frozen=True, slots=True)
class ModelShape:
    """Dimensions of the decoder."""

    hidden_size: int
    intermediate_size: int
    num_layers: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    vocab_size: int
    rms_norm_eps: float
    rope_theta: float
    max_position_embeddings: int
    tied_embeddings: bool
    eos_token_ids: tuple[int, ...]

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> ModelShape:
        """Read a ``config.json``.

        Raises:
            UsageError: The model is not of the Llama type, or needs a rotary scaling that is not implemented.
        """
        if config.get("model_type") != "llama" or config.get("rope_scaling"):
            raise UsageError(f"model type {config.get('model_type')!r}: only plain Llama-type models run here")
        eos = config.get("eos_token_id")
        heads = config["num_attention_heads"]
        return cls(
            hidden_size=config["hidden_size"],
            intermediate_size=config["intermediate_size"],
            num_layers=config["num_hidden_layers"],
            num_heads=heads,
            num_kv_heads=config.get("num_key_value_heads", heads),
            head_dim=config.get("head_dim") or config["hidden_size"] // heads,
            vocab_size=config["vocab_size"],
            rms_norm_eps=config["rms_norm_eps"],
            rope_theta=config.get("rope_theta", 10_000.0),
            max_position_embeddings=config["max_position_embeddings"],
            tied_embeddings=config.get("tie_word_embeddings", False),
            eos_token_ids=tuple(eos) if isinstance(eos, list) else () if eos is None else (eos,),
        )

    @property
    def query_size(self) -> int:
        """Width of all query heads."""
        return self.num_heads * self.head_dim

    @property
    def kv_size(self) -> int:
        """Width of all key heads, or of all value heads."""
        return self.num_kv_heads * self.head_dim

    @property
    def num_layer_weights(self) -> int:
        """Weights of the matrices of one layer."""
        attention = self.hidden_size * (2 * self.query_size + 2 * self.kv_size)
        return attention + 3 * self.hidden_size * self.intermediate_size

    @property
    def num_head_weights(self) -> int:
        """Weights of the matrix that turns a hidden state into logits."""
        return self.hidden_size * self.vocab_size

    @property
    def num_parameters(self) -> int:
        """All weights, norms included, shared ones once."""
        norms = self.hidden_size * (2 * self.num_layers + 1)
        matrices = self.num_layers * self.num_layer_weights + self.num_head_weights
        return matrices + norms + (0 if self.tied_embeddings else self.num_head_weights)

    @property
    def kv_bytes_per_token(self) -> int:
        """Bytes of keys and values of one token in all layers."""
        return 2 * self.num_layers * self.kv_size * FLOAT_BYTES

    def step_cost(self, items: Sequence[Scheduled], quantization: Quantization = "none") -> StepCost:
        """Return what a step must at least read and compute.

        Weights are read once a step whatever the batch; the logits' matrix only if a token is sampled. A query at
        position p attends to p + 1 keys; each product of two numbers counts as two operations.
        """
        num_tokens = sum(item.num_tokens for item in items)
        num_sampled = sum(1 + len(item.request.draft_ids) for item in items if item.samples)
        num_pairs = sum(item.num_tokens * (item.start + item.end + 1) // 2 for item in items)
        layer_weights = self.num_layers * self.num_layer_weights
        head_weights = self.num_head_weights if num_sampled else 0
        flops = 2 * num_tokens * layer_weights + 2 * num_sampled * self.num_head_weights
        flops += 4 * self.num_layers * self.query_size * num_pairs
        cached = sum(item.end for item in items)
        return StepCost(
            weight_bytes=BYTES_PER_WEIGHT[quantization] * (layer_weights + head_weights),
            kv_bytes=self.kv_bytes_per_token * (cached + num_tokens),
            flops=flops,
        )

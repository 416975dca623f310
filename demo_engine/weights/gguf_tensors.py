"""A Llama-type GGUF file as float32 arrays under the names, and in the layout, that transformers uses."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from gguf import GGUFReader
from gguf.quants import dequantize
from numpy.typing import NDArray

Array = NDArray[np.float32]

_OUTER_NAMES = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}
_LAYER_NAMES = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}


def read_config(reader: GGUFReader) -> dict[str, Any]:
    """Return the model's shape as a ``config.json`` of the Llama type."""

    def value(key: str) -> Any:
        return reader.get_field(key).contents()

    hidden, heads = value("llama.embedding_length"), value("llama.attention.head_count")
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_act": "silu",
        "hidden_size": hidden,
        "intermediate_size": value("llama.feed_forward_length"),
        "num_hidden_layers": value("llama.block_count"),
        "num_attention_heads": heads,
        "num_key_value_heads": value("llama.attention.head_count_kv"),
        "head_dim": hidden // heads,
        "rms_norm_eps": round(value("llama.attention.layer_norm_rms_epsilon"), 12),
        "rope_theta": value("llama.rope.freq_base"),
        "max_position_embeddings": value("llama.context_length"),
        "vocab_size": value("llama.vocab_size"),
        "tie_word_embeddings": all(tensor.name != "output.weight" for tensor in reader.tensors),
        "bos_token_id": value("tokenizer.ggml.bos_token_id"),
        "eos_token_id": value("tokenizer.ggml.eos_token_id"),
        "dtype": "float32",
    }


def read_tensors(reader: GGUFReader, config: dict[str, Any]) -> dict[str, Array]:
    """Return every tensor dequantised to float32, by its transformers name."""
    heads = {"attn_q": config["num_attention_heads"], "attn_k": config["num_key_value_heads"]}
    tensors = {}
    for tensor in reader.tensors:
        values = np.ascontiguousarray(dequantize(tensor.data, tensor.tensor_type), dtype=np.float32)
        layer = re.fullmatch(r"blk\.(\d+)\.(\w+)\.weight", tensor.name)
        if layer is None:
            tensors[_OUTER_NAMES[tensor.name]] = values
            continue
        index, part = layer.groups()
        if part in heads:
            values = undo_rotary_permutation(values, heads[part])
        tensors[f"model.layers.{index}.{_LAYER_NAMES[part]}.weight"] = values
    return tensors


def undo_rotary_permutation(weight: Array, num_heads: int) -> Array:
    """Bring the rows of a query or key projection back into the order of rotate-half rotary embedding.

    GGUF stores them for interleaved rotary embedding; used as they lie, they give plausible nonsense.

    Args:
        weight: ``[num_heads * head_dim, hidden]``.
        num_heads: Heads that the rows belong to.
    """
    rows, hidden = weight.shape
    pairs = weight.reshape(num_heads, rows // num_heads // 2, 2, hidden)
    return np.ascontiguousarray(pairs.swapaxes(1, 2).reshape(rows, hidden))

"""A small random model with the default model's head size, as a folder that the runner opens."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from safetensors.torch import save_file

CONFIG = {
    "model_type": "llama", "hidden_size": 192, "intermediate_size": 512, "num_hidden_layers": 3,
    "num_attention_heads": 3, "num_key_value_heads": 1, "vocab_size": 499, "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0, "max_position_embeddings": 2048, "tie_word_embeddings": False, "eos_token_id": 2,
}  # fmt: skip


def write_toy_model(folder: Path) -> Path:
    """Write configuration and weights, the same in each run, with an output matrix of their own; return the folder."""
    generator = torch.Generator().manual_seed(1)
    hidden, inner, kv = CONFIG["hidden_size"], CONFIG["intermediate_size"], 64

    def random(rows, columns):
        return torch.randn(rows, columns, generator=generator) / columns**0.5

    tensors = {"model.embed_tokens.weight": torch.randn(CONFIG["vocab_size"], hidden, generator=generator)}
    for index in range(CONFIG["num_hidden_layers"]):
        shapes = {
            "self_attn.q_proj": (hidden, hidden), "self_attn.k_proj": (kv, hidden), "self_attn.v_proj": (kv, hidden),
            "self_attn.o_proj": (hidden, hidden), "mlp.gate_proj": (inner, hidden), "mlp.up_proj": (inner, hidden),
            "mlp.down_proj": (hidden, inner),
        }  # fmt: skip
        for name, (rows, columns) in shapes.items():
            tensors[f"model.layers.{index}.{name}.weight"] = 2 * random(rows, columns)
        for name in ("input_layernorm", "post_attention_layernorm"):
            tensors[f"model.layers.{index}.{name}.weight"] = torch.ones(hidden)
    tensors |= {"model.norm.weight": torch.ones(hidden), "lm_head.weight": random(CONFIG["vocab_size"], hidden)}
    save_file(tensors, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(CONFIG))
    return folder

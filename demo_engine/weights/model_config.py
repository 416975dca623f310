"""A model's ``config.json``, held against what every part of the engine reads from it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import msgspec

from demo_engine.errors import UsageError

_Count = Annotated[int, msgspec.Meta(ge=1, le=2**31)]


class _Needed(msgspec.Struct):
    """The fields without which no model can be built; there are others."""

    hidden_size: _Count
    intermediate_size: _Count
    max_position_embeddings: _Count
    num_attention_heads: _Count
    num_hidden_layers: _Count
    rms_norm_eps: float
    vocab_size: _Count


def read_model_config(path: Path) -> dict[str, Any]:
    """Return all fields.

    Raises:
        UsageError: The file cannot be read, is no JSON object, or lacks a field.
    """
    try:
        data = path.read_bytes()
        msgspec.json.decode(data, type=_Needed)
        return msgspec.json.decode(data, type=dict[str, Any])
    except (OSError, msgspec.DecodeError, RecursionError) as error:
        raise UsageError(f"{path}: {error}; give the folder of a Llama-type model") from error

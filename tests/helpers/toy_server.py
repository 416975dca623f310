"""A folder that a real server opens in moments: the toy model, and a tokenizer of single bytes beside it."""

from __future__ import annotations

import json
from pathlib import Path

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from toy_model import write_toy_model

MARKERS = ("<|im_start|>", "<|im_end|>")


def write_toy_folder(folder: Path, max_tokens: int = 8192) -> Path:
    """Write model, configuration and tokenizer of a model that holds so many tokens; return the folder."""
    write_toy_model(folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"max_position_embeddings": max_tokens}))
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({letter: index for index, letter in enumerate(alphabet)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(marker, special=True) for marker in MARKERS])
    tokenizer.add_tokens([f"<unused {index}>" for index in range(config["vocab_size"] - tokenizer.get_vocab_size())])
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder

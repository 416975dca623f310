"""A tokenizer of single bytes and a few longer tokens, small enough that its tables cost nothing."""

from __future__ import annotations

from pathlib import Path

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from demo_engine.api.detokenizer import byte_level_alphabet

STOP_ID = 2
_LONGER = ('{"', '":', '",', 'Ġ"', '"}', "true", "12", "Ġname", "ne")


def write_byte_tokenizer(folder: Path) -> Path:
    """Write ``tokenizer.json`` with the stop token of the toy model; return its path."""
    names = ["<|a|>", "<|b|>", "<|end|>", *byte_level_alphabet(), *_LONGER]
    vocabulary = {name: index for index, name in enumerate(names)}
    tokenizer = Tokenizer(models.BPE(vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(name, special=True) for name in names[:3]])
    file = folder / "tokenizer.json"
    tokenizer.save(str(file))
    return file

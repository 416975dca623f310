"""The tokenizer of a GGUF file as a ``tokenizer.json``."""

from __future__ import annotations

from typing import Any

from gguf import GGUFReader
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from demo_engine.errors import EnvironmentLackError

_CONTROL = 3  # llama.cpp's token type of special tokens


def read_tokenizer(reader: GGUFReader) -> Tokenizer:
    """Build the byte-level BPE tokenizer that the file describes.

    Raises:
        EnvironmentLackError: The file uses a pre-tokenizer that is not known here.
    """

    def value(key: str) -> Any:
        return reader.get_field(f"tokenizer.ggml.{key}").contents()

    if value("pre") != "smollm":
        raise EnvironmentLackError(f"the model's pre-tokenizer {value('pre')!r} is not supported; use SmolLM2")
    tokens: list[str] = value("tokens")
    merges = [tuple(merge.split(" ")) for merge in value("merges")]
    tokenizer = Tokenizer(models.BPE(vocab={token: index for index, token in enumerate(tokens)}, merges=merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    special = [token for token, kind in zip(tokens, value("token_type"), strict=True) if kind == _CONTROL]
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in special])
    return tokenizer

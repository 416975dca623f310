"""The tokenizer of the API process."""

from __future__ import annotations

from pathlib import Path

from tokenizers import Tokenizer

from demo_engine.api.detokenizer import Detokenizer, token_bytes


class PromptTokenizer:
    """Text to token ids, and the bytes that go the other way."""

    def __init__(self, file: Path) -> None:
        self._tokenizer = Tokenizer.from_file(str(file))
        vocabulary = self._tokenizer.get_vocab(with_added_tokens=True)
        added = self._tokenizer.get_added_tokens_decoder()
        special = frozenset(token_id for token_id, token in added.items() if token.special)
        self._table = token_bytes(vocabulary, special)
        self._longest_token_bytes = max(len(data) for data in [*self._table, *(token.encode() for token in vocabulary)])
        self.vocab_size = len(self._table)

    def encode(self, text: str) -> list[int]:
        """Return the text's token ids; no other thread of this process runs meanwhile."""
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    def encode_beside(self, text: str) -> list[int]:
        """Return the text's token ids, as a batch of one, which lets other threads run meanwhile."""
        ids: list[int] = self._tokenizer.encode_batch([text], add_special_tokens=False)[0].ids
        return ids

    def token_bytes(self, token_id: int) -> bytes:
        """Return what a token stands for; a special token stands for its name."""
        name = self._tokenizer.id_to_token(token_id) or ""
        return (self._table[token_id] if token_id < len(self._table) else b"") or name.encode()

    def fewest_tokens(self, text: str) -> int:
        """Return a number of tokens that the text certainly has, without tokenizing it."""
        return len(text.encode()) // self._longest_token_bytes

    def detokenizer(self) -> Detokenizer:
        """Return a detokenizer for one reply."""
        return Detokenizer(self._table)

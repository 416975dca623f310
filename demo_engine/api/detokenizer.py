"""Token ids back to text while they arrive, without ever cutting a character in two."""

from __future__ import annotations

import codecs
from collections.abc import Mapping, Sequence


def byte_level_alphabet() -> dict[str, int]:
    """Return the byte that each letter of a byte-level vocabulary stands for.

    Printable bytes stand for themselves; the others are written as the characters from U+0100 on, in their order.
    """
    printable = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    hidden = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + index): byte for index, byte in enumerate(hidden)}


def token_bytes(vocabulary: Mapping[str, int], special_ids: frozenset[int]) -> list[bytes]:
    """Return each token's bytes by id; special tokens have none, because they are not text."""
    alphabet = byte_level_alphabet()
    table = [b""] * (max(vocabulary.values()) + 1)
    for token, token_id in vocabulary.items():
        if token_id in special_ids:
            continue
        if all(letter in alphabet for letter in token):
            table[token_id] = bytes(alphabet[letter] for letter in token)
        else:
            table[token_id] = token.encode()
    return table


class Detokenizer:
    """The text of one reply. Bytes that may still become a character are held back."""

    def __init__(self, table: Sequence[bytes]) -> None:
        self._table = table
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def push(self, token_id: int) -> str:
        """Return the text that is certain now."""
        data = self._table[token_id] if token_id < len(self._table) else b""
        return self._decoder.decode(data)

    @property
    def is_inside_character(self) -> bool:
        """Whether bytes are held back."""
        return bool(self._decoder.getstate()[0])

    def finish(self) -> str:
        """Return what was held back; bytes that never became a character read as U+FFFD."""
        return self._decoder.decode(b"", final=True)

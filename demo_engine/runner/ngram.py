"""Guessing the next tokens by looking for the last ones earlier in the text, as copies and repetitions allow."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import cycle, islice

_TYPECODE = "I"
_TOKEN_BYTES = array(_TYPECODE).itemsize


def guess_next(token_ids: Sequence[int], limit: int, longest: int, shortest: int) -> list[int]:
    """Return what followed when the last tokens were last seen, or nothing if they were not.

    The longest match counts, and of several the latest. A match that reaches to the end is a repetition, and is taken
    to go on.

    Args:
        token_ids: Everything so far.
        limit: Most tokens to guess.
        longest: How many of the last tokens are looked for at first.
        shortest: How many at least.
    """
    text = array(_TYPECODE, token_ids).tobytes()
    for length in range(min(longest, len(token_ids) - 1), shortest - 1, -1):
        start = _last_start(text, length)
        if start is not None:
            return list(islice(cycle(token_ids[start + length :]), limit))
    return []


def _last_start(text: bytes, length: int) -> int | None:
    """Return the token at which the last ``length`` tokens begin where they stand for the last time before the end."""
    wanted = text[-length * _TOKEN_BYTES :]
    end = len(text) - _TOKEN_BYTES
    while (at := text.rfind(wanted, 0, end)) >= 0:
        if at % _TOKEN_BYTES == 0:
            return at // _TOKEN_BYTES
        end = at + len(wanted) - 1  # found across two tokens
    return None

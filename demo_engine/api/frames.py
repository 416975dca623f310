"""How many tokens travel in one event of a stream."""

from __future__ import annotations

from typing import NamedTuple

from demo_engine.api.generation import Delta
from demo_engine.api.logprobs import ScoredToken


class Frame(NamedTuple):
    """What one event carries."""

    text: str
    tokens: tuple[ScoredToken, ...]


class TokenFrames:
    """Gathers the text of several tokens; the end of the reply sends what is there.

    Args:
        tokens_per_frame: Tokens that fill a frame. Their text may be less, while some of it is held back.
    """

    def __init__(self, tokens_per_frame: int) -> None:
        self._tokens_per_frame = tokens_per_frame
        self._num_tokens = 0
        self._text = ""
        self._tokens: tuple[ScoredToken, ...] = ()

    def push(self, delta: Delta) -> Frame | None:
        """Add news; return the frame if it is to be sent now. The last one may be empty."""
        self._num_tokens += delta.num_tokens
        self._text += delta.text
        self._tokens += delta.tokens
        is_due = self._text and self._num_tokens >= self._tokens_per_frame
        if not is_due and delta.finish_reason is None:
            return None
        frame = Frame(self._text, self._tokens)
        self._num_tokens, self._text, self._tokens = 0, "", ()
        return frame

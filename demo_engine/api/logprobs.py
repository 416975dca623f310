"""Log probabilities in the two shapes that the two kinds of completions use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from demo_engine.core.request import TokenLogprobs

TokenBytes = Callable[[int], bytes]
"""Token id → what it stands for."""


class ScoredToken(NamedTuple):
    """A token of the reply and how likely the model found it."""

    token_id: int
    offset: int
    """Characters of the reply that were known before it."""
    logprobs: TokenLogprobs


def chat_logprobs(tokens: Sequence[ScoredToken], token_bytes: TokenBytes) -> dict[str, Any]:
    """Return the ``logprobs`` object of a chat choice."""

    def entry(token_id: int, logprob: float) -> dict[str, Any]:
        data = token_bytes(token_id)
        return {"token": _readable(data), "logprob": logprob, "bytes": list(data)}

    content = [
        entry(token.token_id, token.logprobs.chosen)
        | {"top_logprobs": [entry(token_id, logprob) for token_id, logprob in token.logprobs.top]}
        for token in tokens
    ]
    return {"content": content, "refusal": None}


def completion_logprobs(tokens: Sequence[ScoredToken], token_bytes: TokenBytes) -> dict[str, Any]:
    """Return the ``logprobs`` object of a plain completion's choice."""

    def text(token_id: int) -> str:
        return _readable(token_bytes(token_id))

    return {
        "tokens": [text(token.token_id) for token in tokens],
        "token_logprobs": [token.logprobs.chosen for token in tokens],
        "top_logprobs": [{text(token_id): logprob for token_id, logprob in token.logprobs.top} for token in tokens],
        "text_offset": [token.offset for token in tokens],
    }


def _readable(data: bytes) -> str:
    """Return a token as text; a token that is only part of a character is written as its bytes."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return "bytes:" + "".join(f"\\x{byte:02x}" for byte in data)

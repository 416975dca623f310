"""The JSON of replies, whole and streamed, for both kinds of completions."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import msgspec

from demo_engine.api.logprobs import ScoredToken, TokenBytes, chat_logprobs, completion_logprobs
from demo_engine.core.request import FinishReason

DONE = b"data: [DONE]\n\n"


def sse(value: Any) -> bytes:
    """Return one server-sent event."""
    return b"data: " + msgspec.json.encode(value) + b"\n\n"


class Ending(NamedTuple):
    """Why a reply ended, and what it counts."""

    reason: FinishReason
    stop: str | None
    """The stop string that ended it."""
    num_prompt_tokens: int
    num_cached_tokens: int
    num_output_tokens: int

    def usage(self) -> dict[str, Any]:
        """Return the ``usage`` object."""
        return {
            "prompt_tokens": self.num_prompt_tokens,
            "completion_tokens": self.num_output_tokens,
            "total_tokens": self.num_prompt_tokens + self.num_output_tokens,
            "prompt_tokens_details": {"cached_tokens": self.num_cached_tokens},
        }


@dataclass(frozen=True, slots=True)
class Reply:
    """What all objects of one reply share, and their shapes."""

    id: str
    model: str
    kind: Literal["chat", "completion"]
    token_bytes: TokenBytes
    with_usage: bool = False
    """Whether a stream ends with a usage chunk; the chunks before it then carry a null."""
    with_logprobs: bool = False
    created: int = field(default_factory=lambda: time.time_ns() // 1_000_000_000)

    def opening(self) -> list[Any]:
        """Return the chunk that opens a stream: chat names the role first."""
        return [self._chunk({"role": "assistant", "content": ""})] if self.kind == "chat" else []

    def text(self, text: str, tokens: Sequence[ScoredToken]) -> Any:
        """Return a chunk with more text."""
        return self._chunk({"content": text} if self.kind == "chat" else text, logprobs=self._logprobs(tokens))

    def closing(self, ending: Ending) -> Any:
        """Return the chunk that says why the reply ends."""
        return self._chunk({} if self.kind == "chat" else "", finish_reason=ending.reason, stop_reason=ending.stop)

    def usage(self, ending: Ending) -> Any:
        """Return the chunk with the token counts."""
        return self._base(streamed=True) | {"choices": [], "usage": ending.usage()}

    def whole(self, text: str, tokens: Sequence[ScoredToken], ending: Ending) -> Any:
        """Return a reply that is not streamed."""
        content = {"message": {"role": "assistant", "content": text}} if self.kind == "chat" else {"text": text}
        choice = {
            "index": 0, **content, "logprobs": self._logprobs(tokens), "finish_reason": ending.reason,
            "stop_reason": ending.stop,
        }  # fmt: skip
        return self._base(streamed=False) | {"choices": [choice], "usage": ending.usage()}

    def _logprobs(self, tokens: Sequence[ScoredToken]) -> dict[str, Any] | None:
        if not self.with_logprobs:
            return None
        write = chat_logprobs if self.kind == "chat" else completion_logprobs
        return write(tokens, self.token_bytes)

    def _chunk(self, content: Any, **fields: Any) -> Any:
        name = "delta" if self.kind == "chat" else "text"
        choice = {"index": 0, name: content, "logprobs": None, "finish_reason": None} | fields
        return self._base(streamed=True) | {"choices": [choice]} | ({"usage": None} if self.with_usage else {})

    def _base(self, *, streamed: bool) -> dict[str, Any]:
        name = "text_completion" if self.kind == "completion" else f"chat.completion{'.chunk' if streamed else ''}"
        return {"id": self.id, "object": name, "created": self.created, "model": self.model}

"""The JSON of replies, whole and streamed, for both kinds of completions."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from demo_engine.core.request import FinishReason

DONE = b"data: [DONE]\n\n"


def sse(value: Any) -> bytes:
    """Return one server-sent event."""
    return b"data: " + msgspec.json.encode(value) + b"\n\n"


@dataclass(frozen=True, slots=True)
class Reply:
    """What all objects of one reply share, and their shapes."""

    id: str
    model: str
    kind: Literal["chat", "completion"]
    with_usage: bool = False
    """Whether a stream ends with a usage chunk; the chunks before it then carry a null."""
    created: int = field(default_factory=lambda: time.time_ns() // 1_000_000_000)

    def opening(self) -> list[Any]:
        """Return the chunk that opens a stream: chat names the role first."""
        return [self._chunk({"role": "assistant", "content": ""}, None)] if self.kind == "chat" else []

    def text(self, text: str) -> Any:
        """Return a chunk with more text."""
        return self._chunk({"content": text} if self.kind == "chat" else text, None)

    def closing(self, reason: FinishReason) -> Any:
        """Return the chunk that says why the reply ends."""
        return self._chunk({} if self.kind == "chat" else "", reason)

    def usage(self, num_prompt_tokens: int, num_output_tokens: int) -> Any:
        """Return the chunk with the token counts."""
        return self._base(streamed=True) | {"choices": [], "usage": _usage(num_prompt_tokens, num_output_tokens)}

    def whole(self, text: str, reason: FinishReason, num_prompt_tokens: int, num_output_tokens: int) -> Any:
        """Return a reply that is not streamed."""
        content = {"message": {"role": "assistant", "content": text}} if self.kind == "chat" else {"text": text}
        choice = {"index": 0, **content, "logprobs": None, "finish_reason": reason}
        return self._base(streamed=False) | {
            "choices": [choice],
            "usage": _usage(num_prompt_tokens, num_output_tokens),
        }

    def _chunk(self, content: Any, reason: FinishReason | None) -> Any:
        name = "delta" if self.kind == "chat" else "text"
        choice = {"index": 0, name: content, "logprobs": None, "finish_reason": reason}
        return self._base(streamed=True) | {"choices": [choice]} | ({"usage": None} if self.with_usage else {})

    def _base(self, *, streamed: bool) -> dict[str, Any]:
        name = "text_completion" if self.kind == "completion" else f"chat.completion{'.chunk' if streamed else ''}"
        return {"id": self.id, "object": name, "created": self.created, "model": self.model}


def _usage(num_prompt_tokens: int, num_output_tokens: int) -> dict[str, Any]:
    return {
        "prompt_tokens": num_prompt_tokens,
        "completion_tokens": num_output_tokens,
        "total_tokens": num_prompt_tokens + num_output_tokens,
        "prompt_tokens_details": {"cached_tokens": 0},
    }

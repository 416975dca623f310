"""From a request's messages or text to token ids, refusing at each step what is too long for the next."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from demo_engine.api.errors import ApiError
from demo_engine.api.template import render
from demo_engine.api.tokenizer import PromptTokenizer
from demo_engine.api.validation import ChatMessage
from demo_engine.recorder.server_trace import StageClock

INLINE_CHARACTERS = 16_384
"""Longer texts are tokenized in a worker thread; for shorter ones the way there takes longer than the work."""


class Prompts:
    """Makes prompts of at most so many bytes and tokens."""

    def __init__(self, tokenizer: PromptTokenizer, max_prompt_bytes: int, max_tokens: int) -> None:
        self.max_tokens = max_tokens
        self._tokenizer = tokenizer
        self._max_prompt_bytes = max_prompt_bytes

    async def of_chat(self, messages: Sequence[ChatMessage], stages: StageClock) -> list[int]:
        """Return a conversation's token ids, marking the stages on the way.

        Raises:
            ApiError: It is too long (400).
        """
        plain = [message.plain() for message in messages]
        self._check_bytes(sum(_num_bytes(message.content) for message in plain), "messages")
        text = render(plain)
        stages.mark("template")
        return await self._encode(text, "messages", stages)

    async def of_text(self, prompt: str | list[int | str], stages: StageClock) -> list[int]:
        """Return the token ids of a text, of a list that holds one text, or of token ids.

        Raises:
            ApiError: It is too long, holds several prompts, or ids that do not exist (400).
        """
        items = [prompt] if isinstance(prompt, str) else prompt
        if len(items) == 1 and isinstance(items[0], str):
            self._check_bytes(_num_bytes(items[0]), "prompt")
            return await self._encode(items[0], "prompt", stages)
        ids = [item for item in items if isinstance(item, int)]
        if len(ids) < len(items):
            raise ApiError(400, "one prompt a request is supported", param="prompt", code="unsupported_value")
        if not all(0 <= token_id < self._tokenizer.vocab_size for token_id in ids):
            raise ApiError(400, "a token id is outside the vocabulary", param="prompt", code="invalid_value")
        stages.mark("encode")
        return ids

    async def tokenize(self, text: str) -> list[int]:
        """Return a text's token ids; its length is bounded by the body alone.

        Raises:
            ApiError: It is not Unicode (400).
        """
        _num_bytes(text)
        if len(text) <= INLINE_CHARACTERS:
            return self._tokenizer.encode(text)
        return await asyncio.to_thread(self._tokenizer.encode, text)

    def check_room(self, num_prompt_tokens: int, max_tokens: int, limit: int, param: str) -> None:
        """Refuse a prompt that leaves no room for its answer.

        Raises:
            ApiError: Prompt and answer together exceed ``limit`` tokens (400).
        """
        if num_prompt_tokens + max_tokens > limit:
            raise ApiError(
                400,
                f"this server holds at most {limit} tokens a request; the prompt has at least {num_prompt_tokens} "
                f"and {max_tokens} more are asked for; shorten either",
                param=param,
                code="context_length_exceeded",
            )

    async def _encode(self, text: str, param: str, stages: StageClock) -> list[int]:
        self.check_room(self._tokenizer.fewest_tokens(text), 1, self.max_tokens, param)
        ids = await self.tokenize(text)
        stages.mark("encode")
        return ids

    def _check_bytes(self, num_bytes: int, param: str) -> None:
        if num_bytes > self._max_prompt_bytes:
            raise ApiError(
                400,
                f"the prompt has {num_bytes} bytes; this server takes at most {self._max_prompt_bytes}",
                param=param,
                code="context_length_exceeded",
            )


def _num_bytes(text: str) -> int:
    try:
        return len(text.encode())
    except UnicodeEncodeError:
        raise ApiError(400, "the text holds half a surrogate pair", code="invalid_value") from None

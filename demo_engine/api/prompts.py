"""From a request's messages or text to token ids, refusing at each step what is too long for the next."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from demo_engine.api.errors import ApiError
from demo_engine.api.template import render
from demo_engine.api.tokenizer import PromptTokenizer
from demo_engine.api.validation import ChatMessage
from demo_engine.core.config import EngineConfig
from demo_engine.recorder.server_trace import StageClock


class _Tokenized(NamedTuple):
    """A text's token ids, and when the work on them began, had the text, and was done."""

    ids: list[int]
    num_characters: int
    start_ns: int
    text_ns: int
    end_ns: int


class Prompts:
    """Makes prompts of at most so many bytes and tokens.

    Template and tokenizer run where ``tokenizer_mode`` says:

    * ``loop``: on the event loop, which serves nobody else meanwhile.
    * ``thread``: in a worker thread, with ``encode``. It holds the interpreter's lock, so the loop waits all the same.
    * ``pool``: in a worker thread, with ``encode_batch``, which lets go of it.
    """

    def __init__(self, tokenizer: PromptTokenizer, max_prompt_bytes: int, config: EngineConfig) -> None:
        self.max_tokens = config.max_request_tokens
        self._tokenizer = tokenizer
        self._max_prompt_bytes = max_prompt_bytes
        self._mode = config.tokenizer_mode
        self._workers = None if self._mode == "loop" else ThreadPoolExecutor(config.tokenizer_workers, "tokenizer")

    async def of_chat(self, messages: Sequence[ChatMessage], stages: StageClock) -> list[int]:
        """Return a conversation's token ids, marking the stages on the way.

        Raises:
            ApiError: It is too long (400).
        """
        plain = [message.plain() for message in messages]
        self._check_bytes(sum(_num_bytes(message.content) for message in plain), "messages")

        def write() -> str:
            text = render(plain)
            self._check_tokens(text, "messages")
            return text

        return await self._tokenize(write, stages, with_template=True)

    async def of_text(self, prompt: str | list[int | str], stages: StageClock) -> list[int]:
        """Return the token ids of a text, of a list that holds one text, or of token ids.

        Raises:
            ApiError: It is too long, holds several prompts, or ids that do not exist (400).
        """
        items = [prompt] if isinstance(prompt, str) else prompt
        if len(items) == 1 and isinstance(items[0], str):
            text = items[0]
            self._check_bytes(_num_bytes(text), "prompt")
            self._check_tokens(text, "prompt")
            return await self._tokenize(lambda: text, stages)
        ids = [item for item in items if isinstance(item, int)]
        if len(ids) < len(items):
            raise ApiError(400, "one prompt a request is supported", param="prompt", code="unsupported_value")
        if not all(0 <= token_id < self._tokenizer.vocab_size for token_id in ids):
            raise ApiError(400, "a token id is outside the vocabulary", param="prompt", code="invalid_value")
        stages.mark("encode")
        return ids

    async def of_any_text(self, text: str, stages: StageClock) -> list[int]:
        """Return a text's token ids; its length is bounded by the body alone.

        Raises:
            ApiError: It is not Unicode (400).
        """
        _num_bytes(text)
        return await self._tokenize(lambda: text, stages)

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

    async def _tokenize(
        self, write: Callable[[], str], stages: StageClock, *, with_template: bool = False
    ) -> list[int]:
        """Do the work where the setting says, and mark its stages; the ways to a worker and back are stages too."""

        def work() -> _Tokenized:
            start_ns = time.perf_counter_ns()
            text = write()
            text_ns = time.perf_counter_ns()
            ids = (self._tokenizer.encode_beside if self._mode == "pool" else self._tokenizer.encode)(text)
            return _Tokenized(ids, len(text), start_ns, text_ns, time.perf_counter_ns())

        if self._workers is None:
            done = work()
        else:
            done = await asyncio.get_running_loop().run_in_executor(self._workers, work)
            stages.mark("handoff", done.start_ns)
        if with_template:
            stages.mark("template", done.text_ns)
        stages.mark("encode", done.end_ns, {"mode": self._mode, "characters": done.num_characters})
        if self._workers is not None:
            stages.mark("handback")
        return done.ids

    def _check_tokens(self, text: str, param: str) -> None:
        self.check_room(self._tokenizer.fewest_tokens(text), 1, self.max_tokens, param)

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

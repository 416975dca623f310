"""The two completion endpoints: body in, stages marked, reply out."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Literal, TypeVar

import msgspec
from aiohttp import web

from demo_engine.api.connection import BODY_DEADLINE_S
from demo_engine.api.errors import ApiError, json_response
from demo_engine.api.generation import Generation
from demo_engine.api.guard import STAGES
from demo_engine.api.replica import Replica
from demo_engine.api.replies import Reply
from demo_engine.api.router import choose
from demo_engine.api.stream import stream_reply
from demo_engine.api.template import render
from demo_engine.api.tokenizer import PromptTokenizer
from demo_engine.api.validation import ChatRequest, CompletionRequest, GenerationRequest, parse
from demo_engine.core.request import SamplingParams
from demo_engine.recorder.server_trace import StageClock

DEFAULT_CHAT_TOKENS = 1024
DEFAULT_COMPLETION_TOKENS = 16
MAX_TRACES = 256
RETRY_S = 1

_Body = TypeVar("_Body", bound=GenerationRequest)


class Completions:
    """Serves completions, and keeps what it knows of the last ones."""

    def __init__(
        self, model_id: str, tokenizer: PromptTokenizer, replicas: Sequence[Replica], max_num_queued: int
    ) -> None:
        self.finished: OrderedDict[str, Generation] = OrderedDict()
        self.counts: dict[str, int] = dict.fromkeys(("stop", "length", "cancelled", "error"), 0)
        self.num_output_tokens = 0
        self._model_id = model_id
        self._tokenizer = tokenizer
        self._replicas = replicas
        self._max_open = sum(replica.config.max_num_seqs for replica in replicas) + max_num_queued
        self._num_open = 0

    async def chat(self, request: web.Request) -> web.StreamResponse:
        """``POST /v1/chat/completions``."""
        with self._admitted():
            stages = request[STAGES]
            body = await self._body(request, ChatRequest)
            max_tokens = body.max_completion_tokens or body.max_tokens
            stages.mark("receive")
            text = render([message.plain() for message in body.messages])
            stages.mark("template")
            prompt_ids = self._encode(text)
            stages.mark("encode")
            return await self._complete(request, body, "chat", prompt_ids, max_tokens, DEFAULT_CHAT_TOKENS)

    async def plain(self, request: web.Request) -> web.StreamResponse:
        """``POST /v1/completions``."""
        with self._admitted():
            stages = request[STAGES]
            body = await self._body(request, CompletionRequest)
            stages.mark("receive")
            prompt_ids = self._prompt_ids(body.prompt)
            stages.mark("encode")
            default = DEFAULT_COMPLETION_TOKENS
            return await self._complete(request, body, "completion", prompt_ids, body.max_tokens, default)

    @contextmanager
    def _admitted(self) -> Iterator[None]:
        """Hold a place; without one the request is refused before anything is read of it."""
        if self._num_open >= self._max_open:
            raise ApiError(429, f"{self._num_open} requests are waiting already", code="queue_full", retry_s=RETRY_S)
        choose(self._replicas)
        self._num_open += 1
        try:
            yield
        finally:
            self._num_open -= 1

    async def _body(self, request: web.Request, kind: type[_Body]) -> _Body:
        if request.content_type != "application/json":
            raise ApiError(415, f"content type {request.content_type!r}; send application/json")
        if "Content-Encoding" in request.headers:
            raise ApiError(415, "compressed bodies are not accepted")
        try:
            async with asyncio.timeout(BODY_DEADLINE_S):
                data = await request.read()
        except TimeoutError:
            raise ApiError(408, f"the body did not arrive within {BODY_DEADLINE_S:.0f} s") from None
        body = parse(data, kind)
        if body.model != self._model_id:
            raise ApiError(
                404, f"the model {body.model!r} does not exist; this server has {self._model_id!r}",
                param="model", code="model_not_found",
            )  # fmt: skip
        return body

    def _prompt_ids(self, prompt: str | list[int | str]) -> list[int]:
        items = [prompt] if isinstance(prompt, str) else prompt
        if len(items) == 1 and isinstance(items[0], str):
            return self._encode(items[0])
        ids = [item for item in items if isinstance(item, int)]
        if len(ids) < len(items):
            raise ApiError(400, "one prompt a request is supported", param="prompt", code="unsupported_value")
        if not all(0 <= token_id < self._tokenizer.vocab_size for token_id in ids):
            raise ApiError(400, "a token id is outside the vocabulary", param="prompt", code="invalid_value")
        return ids

    def _encode(self, text: str) -> list[int]:
        limit = max(replica.config.max_request_tokens for replica in self._replicas)
        try:
            fewest = self._tokenizer.fewest_tokens(text)
        except UnicodeEncodeError:
            raise ApiError(400, "the text holds half a surrogate pair", code="invalid_value") from None
        if fewest > limit:
            raise _too_long(fewest, 1, limit)
        return self._tokenizer.encode(text)

    async def _complete(
        self,
        request: web.Request,
        body: GenerationRequest,
        kind: Literal["chat", "completion"],
        prompt_ids: list[int],
        max_tokens: int | None,
        default_tokens: int,
    ) -> web.StreamResponse:
        stages: StageClock = request[STAGES]
        if not prompt_ids:
            raise ApiError(400, "the prompt is empty", param="prompt", code="invalid_value")
        replica = choose(self._replicas)
        stages.mark("route")
        limit = replica.config.max_request_tokens
        room = limit - len(prompt_ids)
        if room < (max_tokens or 1):
            raise _too_long(len(prompt_ids), max_tokens or 1, limit)
        prefix = "chatcmpl" if kind == "chat" else "cmpl"
        generation = Generation(
            f"{prefix}-{secrets.token_hex(12)}", stages, replica, prompt_ids, self._tokenizer.detokenizer()
        )
        reply = Reply(generation.id, self._model_id, kind, with_usage=body.wants_usage)
        sampling = SamplingParams(
            max_tokens=max_tokens or min(room, default_tokens),
            temperature=1.0 if body.temperature is None else body.temperature,
            seed=secrets.randbits(62) if body.seed is None else body.seed,
            ignore_eos=bool(body.ignore_eos),
        )
        deltas = generation.run(sampling)
        try:
            if body.stream:
                return await stream_reply(request, generation, deltas, reply)
            text = "".join([delta.text async for delta in deltas])
            whole = reply.whole(text, generation.finish_reason, len(prompt_ids), generation.num_output_tokens)
            response = json_response(whole, headers={"X-Request-Id": generation.id})
            generation.handed_out(time.perf_counter_ns(), 0)
            stages.mark("write")
            return response
        finally:
            await deltas.aclose()
            self._remember(generation)

    def _remember(self, generation: Generation) -> None:
        self.counts[generation.finish_reason] += 1
        self.num_output_tokens += generation.num_output_tokens
        self.finished[generation.id] = generation
        if len(self.finished) > MAX_TRACES:
            self.finished.popitem(last=False)

    async def trace(self, request: web.Request) -> web.Response:
        """``GET /v1/traces/{request_id}``."""
        request_id = request.match_info["request_id"]
        generation = self.finished.get(request_id)
        if generation is None:
            raise ApiError(404, f"no finished request {request_id!r} is remembered", code="trace_not_found")
        last = generation.tokens.step[-1] if generation.tokens.step else generation.first_step
        steps = await generation.replica.steps(generation.first_step, last)
        return json_response(msgspec.to_builtins(generation.trace(steps)))


def _too_long(num_prompt_tokens: int, max_tokens: int, limit: int) -> ApiError:
    return ApiError(
        400,
        f"this server holds at most {limit} tokens a request; the prompt has at least {num_prompt_tokens} "
        f"and {max_tokens} more are asked for; shorten either",
        param="messages",
        code="context_length_exceeded",
    )

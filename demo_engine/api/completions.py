"""The completion endpoints: body in, stages marked, reply out."""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import contextmanager
from typing import Literal

import msgspec
from aiohttp import web

from demo_engine.api.bodies import read_body
from demo_engine.api.errors import ApiError, json_response
from demo_engine.api.generation import Delta, Generation
from demo_engine.api.guard import STAGES
from demo_engine.api.logprobs import ScoredToken
from demo_engine.api.metrics import Metrics
from demo_engine.api.prompts import Prompts
from demo_engine.api.replica import Replica
from demo_engine.api.replies import Reply
from demo_engine.api.router import choose
from demo_engine.api.stops import StopFinder
from demo_engine.api.stream import stream_reply
from demo_engine.api.tokenizer import PromptTokenizer
from demo_engine.api.validation import ChatRequest, CompletionRequest, TokenizeRequest
from demo_engine.core.request import SamplingParams
from demo_engine.recorder.server_trace import StageClock

DEFAULT_CHAT_TOKENS = 1024
DEFAULT_COMPLETION_TOKENS = 16
MAX_TRACES = 256
RETRY_S = 1


class Completions:
    """Serves completions, and keeps what it knows of the last ones."""

    def __init__(
        self,
        model_id: str,
        tokenizer: PromptTokenizer,
        replicas: Sequence[Replica],
        metrics: Metrics,
        max_num_queued: int,
        max_prompt_bytes: int,
    ) -> None:
        self.finished: OrderedDict[str, Generation] = OrderedDict()
        self._model_id = model_id
        self._tokenizer = tokenizer
        self._replicas = replicas
        self._metrics = metrics
        longest = max((replica.config.max_request_tokens for replica in replicas), default=0)
        self._prompts = Prompts(tokenizer, max_prompt_bytes, longest)
        self._max_open = sum(replica.config.max_num_seqs for replica in replicas) + max_num_queued
        self._num_open = 0

    async def chat(self, request: web.Request) -> web.StreamResponse:
        """``POST /v1/chat/completions``."""
        with self._admitted():
            body = await read_body(request, ChatRequest)
            stages = self._received(request, body.model)
            prompt_ids = await self._prompts.of_chat(body.messages, stages)
            return await self._complete(request, body, "chat", prompt_ids)

    async def plain(self, request: web.Request) -> web.StreamResponse:
        """``POST /v1/completions``."""
        with self._admitted():
            body = await read_body(request, CompletionRequest)
            stages = self._received(request, body.model)
            prompt_ids = await self._prompts.of_text(body.prompt, stages)
            return await self._complete(request, body, "completion", prompt_ids)

    async def tokenize(self, request: web.Request) -> web.Response:
        """``POST /tokenize``."""
        body = await read_body(request, TokenizeRequest)
        self._received(request, body.model or self._model_id)
        ids = await self._prompts.tokenize(body.prompt)
        return json_response({"count": len(ids), "max_model_len": self._prompts.max_tokens, "tokens": ids})

    async def trace(self, request: web.Request) -> web.Response:
        """``GET /v1/traces/{request_id}``."""
        request_id = request.match_info["request_id"]
        generation = self.finished.get(request_id)
        if generation is None:
            raise ApiError(404, f"no finished request {request_id!r} is remembered", code="trace_not_found")
        last = generation.tokens.step[-1] if generation.tokens.step else generation.first_step
        steps = await generation.replica.steps(generation.first_step, last)
        return json_response(msgspec.to_builtins(generation.trace(steps)))

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

    def _received(self, request: web.Request, model: str) -> StageClock:
        """End the first stage with a body that names our model."""
        if model != self._model_id:
            raise ApiError(
                404, f"the model {model!r} does not exist; this server has {self._model_id!r}",
                param="model", code="model_not_found",
            )  # fmt: skip
        stages = request[STAGES]
        stages.mark("receive")
        return stages

    async def _complete(
        self,
        request: web.Request,
        body: ChatRequest | CompletionRequest,
        kind: Literal["chat", "completion"],
        prompt_ids: list[int],
    ) -> web.StreamResponse:
        stages = request[STAGES]
        param = "messages" if kind == "chat" else "prompt"
        if not prompt_ids:
            raise ApiError(400, "the prompt is empty", param=param, code="invalid_value")
        replica = choose(self._replicas)
        stages.mark("route")
        limit = replica.config.max_request_tokens
        self._prompts.check_room(len(prompt_ids), _max_tokens(body) or 1, limit, param)
        generation = Generation(
            f"{'chatcmpl' if kind == 'chat' else 'cmpl'}-{secrets.token_hex(12)}",
            stages, replica, prompt_ids, self._tokenizer.detokenizer(),
            StopFinder(body.stops, replica.config.stop_hold_back),
        )  # fmt: skip
        reply = Reply(
            generation.id, self._model_id, kind, self._tokenizer.token_bytes,
            with_usage=body.wants_usage, with_logprobs=body.num_logprobs is not None,
        )  # fmt: skip
        deltas = generation.run(_sampling(body, limit - len(prompt_ids)), body.priority or 0)
        try:
            if body.stream:
                return await stream_reply(request, generation, deltas, reply)
            return await _whole_reply(generation, deltas, reply)
        finally:
            await deltas.aclose()
            self._remember(generation)

    def _remember(self, generation: Generation) -> None:
        self._metrics.finished(generation)
        self.finished[generation.id] = generation
        if len(self.finished) > MAX_TRACES:
            self.finished.popitem(last=False)


async def _whole_reply(generation: Generation, deltas: AsyncGenerator[Delta, None], reply: Reply) -> web.Response:
    text = ""
    tokens: list[ScoredToken] = []
    async for delta in deltas:
        text += delta.text
        tokens += delta.tokens
    whole = reply.whole(text, tokens, generation.ending())
    response = json_response(whole, headers={"X-Request-Id": generation.id})
    generation.handed_out(time.perf_counter_ns(), 0)
    generation.stages.mark("write")
    return response


def _max_tokens(body: ChatRequest | CompletionRequest) -> int | None:
    return (body.max_completion_tokens if isinstance(body, ChatRequest) else None) or body.max_tokens


def _sampling(body: ChatRequest | CompletionRequest, room: int) -> SamplingParams:
    """Return how the engine shall choose tokens; what the body leaves out has OpenAI's default."""
    default_tokens = DEFAULT_CHAT_TOKENS if isinstance(body, ChatRequest) else DEFAULT_COMPLETION_TOKENS
    return SamplingParams(
        max_tokens=_max_tokens(body) or min(room, default_tokens),
        temperature=1.0 if body.temperature is None else body.temperature,
        seed=secrets.randbits(62) if body.seed is None else body.seed,
        ignore_eos=bool(body.ignore_eos),
        top_k=max(0, body.top_k or 0),
        top_p=body.top_p or 1.0,
        min_p=body.min_p or 0.0,
        presence_penalty=body.presence_penalty or 0.0,
        frequency_penalty=body.frequency_penalty or 0.0,
        repetition_penalty=body.repetition_penalty or 1.0,
        logprobs=body.num_logprobs,
    )

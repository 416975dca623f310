"""The completion endpoints: body in, stages marked, reply out."""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from typing import Literal

import msgspec
from aiohttp import web

from demo_engine.api.bodies import ARRIVED_NS, read_body
from demo_engine.api.errors import ApiError, json_response
from demo_engine.api.gateway.allowance import Spending
from demo_engine.api.gateway.estimate import estimated_prompt_tokens
from demo_engine.api.generation import Delta, Generation
from demo_engine.api.guard import CALLER, STAGES
from demo_engine.api.logprobs import ScoredToken
from demo_engine.api.metrics import Metrics
from demo_engine.api.prompts import Prompts
from demo_engine.api.replies import Reply
from demo_engine.api.router import Router
from demo_engine.api.seats import Seats
from demo_engine.api.stops import StopFinder
from demo_engine.api.stream import stream_reply
from demo_engine.api.tokenizer import PromptTokenizer
from demo_engine.api.validation import ChatRequest, CompletionRequest, TokenizeRequest
from demo_engine.core.config import EngineConfig
from demo_engine.core.request import SamplingParams
from demo_engine.recorder.server_trace import BODY_NS, ServerSteps, ServerTokens, ServerTrace, StageClock

DEFAULT_CHAT_TOKENS = 1024
DEFAULT_COMPLETION_TOKENS = 16
MAX_TRACES = 256


class Completions:
    """Serves completions, and keeps what it knows of the last ones."""

    def __init__(
        self,
        model_id: str,
        tokenizer: PromptTokenizer,
        router: Router,
        metrics: Metrics,
        max_num_queued: int,
        max_prompt_bytes: int,
        config: EngineConfig,
    ) -> None:
        self.finished: OrderedDict[str, Generation | ServerTrace] = OrderedDict()
        self.seats = Seats(config.replicas * config.max_num_seqs + max_num_queued)
        self._model_id = model_id
        self._tokenizer = tokenizer
        self._router = router
        self._metrics = metrics
        self._prompts = Prompts(tokenizer, max_prompt_bytes, config)

    async def chat(self, request: web.Request) -> web.StreamResponse:
        """``POST /v1/chat/completions``."""
        with self._admitted(request) as spending:
            body = await read_body(request, ChatRequest)
            stages = self._received(request, body.model)
            spending.reserve_tokens(estimated_prompt_tokens(body) + _wanted_tokens(body), stages)
            prompt_ids = await self._prompts.of_chat(body.messages, stages)
            return await self._complete(request, body, "chat", prompt_ids, spending)

    async def plain(self, request: web.Request) -> web.StreamResponse:
        """``POST /v1/completions``."""
        with self._admitted(request) as spending:
            body = await read_body(request, CompletionRequest)
            stages = self._received(request, body.model)
            spending.reserve_tokens(estimated_prompt_tokens(body) + _wanted_tokens(body), stages)
            prompt_ids = await self._prompts.of_text(body.prompt, stages)
            return await self._complete(request, body, "completion", prompt_ids, spending)

    async def tokenize(self, request: web.Request) -> web.Response:
        """``POST /tokenize``."""
        _spending(request).take_request()
        body = await read_body(request, TokenizeRequest)
        stages = self._received(request, body.model or self._model_id)
        ids = await self._prompts.of_any_text(body.prompt, stages)
        request_id = f"tok-{secrets.token_hex(12)}"
        reply = {"count": len(ids), "max_model_len": self._prompts.max_tokens, "tokens": ids}
        response = json_response(reply, headers={"X-Request-Id": request_id})
        stages.mark("write")
        self._remember(request_id, _trace_without_engine(request_id, len(ids), stages))
        return response

    async def trace(self, request: web.Request) -> web.Response:
        """``GET /v1/traces/{request_id}``."""
        request_id = request.match_info["request_id"]
        finished = self.finished.get(request_id)
        if finished is None:
            raise ApiError(404, f"no finished request {request_id!r} is remembered", code="trace_not_found")
        if isinstance(finished, Generation):
            last = finished.tokens.step[-1] if finished.tokens.step else finished.first_step
            steps = await finished.replica.steps(finished.first_step, last)
            if finished.replica.lost is not None:
                raise ApiError(404, f"the steps of {request_id!r} went with their engine", code="trace_not_found")
            finished = finished.trace(steps)
        return json_response(msgspec.to_builtins(finished))

    @contextmanager
    def _admitted(self, request: web.Request) -> Iterator[Spending]:
        """Hold a seat, and account for the request; without one it is refused before anything is read of it."""
        with self.seats.taken():
            self._router.ready()
            spending = _spending(request)
            spending.take_request()
            try:
                yield spending
            finally:
                spending.settle()

    def _received(self, request: web.Request, model: str) -> StageClock:
        """End the first stage with a body that names our model."""
        if model != self._model_id:
            raise ApiError(
                404, f"the model {model!r} does not exist; this server has {self._model_id!r}",
                param="model", code="model_not_found",
            )  # fmt: skip
        stages = request[STAGES]
        arrived_ns = request.get(ARRIVED_NS)
        stages.mark("receive", attributes=None if arrived_ns is None else {BODY_NS: arrived_ns - stages.start_ns})
        return stages

    async def _complete(
        self,
        request: web.Request,
        body: ChatRequest | CompletionRequest,
        kind: Literal["chat", "completion"],
        prompt_ids: list[int],
        spending: Spending,
    ) -> web.StreamResponse:
        stages = request[STAGES]
        param = "messages" if kind == "chat" else "prompt"
        if not prompt_ids:
            raise ApiError(400, "the prompt is empty", param=param, code="invalid_value")
        replica, choice = self._router.choose(prompt_ids)
        stages.mark("route", attributes=choice)
        limit = replica.config.max_request_tokens
        self._prompts.check_room(len(prompt_ids), _max_tokens(body) or 1, limit, param)
        generation = Generation(
            f"{'chatcmpl' if kind == 'chat' else 'cmpl'}-{secrets.token_hex(12)}",
            stages, replica, prompt_ids, self._tokenizer.detokenizer(),
            StopFinder(body.stops, replica.config.stop_hold_back), self._router,
        )  # fmt: skip
        reply = Reply(
            generation.id, self._model_id, kind, self._tokenizer.token_bytes,
            with_usage=body.wants_usage, with_logprobs=body.num_logprobs is not None,
        )  # fmt: skip
        sampling = _sampling(body, limit - len(prompt_ids))
        deltas = generation.run(sampling, body.priority or 0)
        try:
            if sampling.json_schema is not None:
                await anext(deltas)  # a schema that the engine refuses is answered with 400, before a stream is opened
            if body.stream:
                return await stream_reply(request, generation, deltas, reply)
            return await _whole_reply(generation, deltas, reply)
        finally:
            await deltas.aclose()
            spending.used_tokens = len(prompt_ids) + generation.num_output_tokens
            self._metrics.finished(generation)
            self._remember(generation.id, generation)

    def _remember(self, request_id: str, finished: Generation | ServerTrace) -> None:
        self.finished[request_id] = finished
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


def _trace_without_engine(request_id: str, num_tokens: int, stages: StageClock) -> ServerTrace:
    """Return the trace of a request that was answered by this process alone."""
    no_steps = ServerSteps(0, {}, [], [], 0)
    return ServerTrace(request_id, "perf_counter_ns", 0, num_tokens, "stop", stages.spans, ServerTokens(), no_steps)


def _spending(request: web.Request) -> Spending:
    caller = request[CALLER]
    return Spending(caller.name, caller.allowance)


def _wanted_tokens(body: ChatRequest | CompletionRequest) -> int:
    """Return how many tokens the answer may have."""
    default_tokens = DEFAULT_CHAT_TOKENS if isinstance(body, ChatRequest) else DEFAULT_COMPLETION_TOKENS
    return _max_tokens(body) or default_tokens


def _max_tokens(body: ChatRequest | CompletionRequest) -> int | None:
    return (body.max_completion_tokens if isinstance(body, ChatRequest) else None) or body.max_tokens


def _sampling(body: ChatRequest | CompletionRequest, room: int) -> SamplingParams:
    """Return how the engine shall choose tokens; what the body leaves out has OpenAI's default."""
    return SamplingParams(
        max_tokens=_max_tokens(body) or min(room, _wanted_tokens(body)),
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
        json_schema=None if body.response_format is None else body.response_format.schema_text(),
    )

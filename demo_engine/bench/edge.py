"""What gateway and router cost a request: real requests over HTTP with and without them, and no model behind."""

from __future__ import annotations

import asyncio
import contextlib
import statistics
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import aiohttp
from aiohttp import web

from demo_engine.api.app import make_app
from demo_engine.api.completions import Completions
from demo_engine.api.gateway.allowance import NO_LIMITS, Limits
from demo_engine.api.gateway.keys import Caller, KeyEntry, KeyRing
from demo_engine.api.guard import CALLER, Guard
from demo_engine.api.metrics import Metrics
from demo_engine.api.replica import Replica, RequestEvent, TokenEvent
from demo_engine.api.router import Router
from demo_engine.api.server import listening
from demo_engine.api.tokenizer import PromptTokenizer
from demo_engine.bench.figures import Figure, Target
from demo_engine.bench.paired import median_interval
from demo_engine.core.config import EngineConfig
from demo_engine.ipc.messages import Accepted, Ready, Started, Submit, Tokens
from demo_engine.recorder.server_trace import Attributes

MOST_US = 500
PROMPT_IDS = [270 + number % 200 for number in range(512)]
KEY, NUM_KEYS = "a-key-for-the-benchmark", 100
PLENTY = Limits(requests_per_minute=1_000_000, tokens_per_minute=1_000_000_000)
_MODEL = "none"
_CONFIG = EngineConfig(replicas=2, routing_policy="prefix_capped")


class NullReplica(Replica):
    """Answers every request with one token at once."""

    def __init__(self, index: int) -> None:
        super().__init__(Path(), _CONFIG, index)
        self.ready = Ready("none", 0, 0)

    def submit(self, message: Submit) -> asyncio.Queue[RequestEvent]:
        """Return all that will ever happen to the request."""
        now_ns = time.perf_counter_ns()
        step = Tokens(0, now_ns, now_ns, now_ns, now_ns, now_ns, [])
        events: asyncio.Queue[RequestEvent] = asyncio.Queue()
        events.put_nowait(Accepted(message.request_id, now_ns, 0))
        events.put_nowait(Started([message.request_id], now_ns, [0]))
        events.put_nowait(TokenEvent(PROMPT_IDS[0], "length", step, now_ns))
        return events


class NoRouter(Router):
    """Takes the first replica unseen."""

    def ready(self) -> list[Replica]:
        """Return all."""
        return list(self._replicas)

    def choose(self, prompt_ids: Sequence[int]) -> tuple[Replica, Attributes]:
        """Return the first."""
        return self._replicas[0], {}


class NoGuard(Guard):
    """Lets everybody in, without limits."""

    _anybody = Caller("anybody", NO_LIMITS)

    def _check(self, request: web.Request) -> None:
        request[CALLER] = self._anybody


def overhead_figures(model: str, num_rounds: int) -> list[Figure]:
    """Measure how much longer a request takes with the gateway, and with the router, than without either.

    Args:
        model: A model's folder, for its tokenizer.
        num_rounds: Requests of each kind, which take turns.
    """
    with_neither, with_gateway, with_router = asyncio.run(_measure(Path(model) / "tokenizer.json", num_rounds))
    gateway = f"a key of {NUM_KEYS}, host, origin and headers checked, limits in requests and tokens"
    router = f"two replicas, {_CONFIG.routing_policy}, {len(PROMPT_IDS)} tokens of prompt"
    return [
        overhead_figure("gateway_overhead_us", gateway, with_gateway, with_neither),
        overhead_figure("router_overhead_us", router, with_router, with_neither),
    ]


def overhead_figure(name: str, what: str, with_it: Sequence[float], without: Sequence[float]) -> Figure:
    """Return the median of the differences, pair by pair.

    Args:
        name: The figure's name.
        what: What makes the difference.
        with_it: Times of requests with it, in µs.
        without: Times of their neighbours without, in µs.
    """
    added_us = [more - less for more, less in zip(with_it, without, strict=True)]
    low, high = median_interval(added_us)
    how = (
        f"none; {what}: added to a request of {statistics.median(without):.0f} µs over HTTP without either, whose "
        f"engine takes no time; {low:.0f} to {high:.0f} (95 %), n={len(added_us)} pairs"
    )
    return Figure(name, statistics.median(added_us), "µs", how, target=Target(MOST_US, "at most"))


async def _measure(tokenizer_file: Path, num_rounds: int) -> tuple[list[float], list[float], list[float]]:
    tokenizer = PromptTokenizer(tokenizer_file)
    replicas = [NullReplica(0), NullReplica(1)]
    keys = KeyRing("unused", [KeyEntry(f"k{number}", f"{KEY}-{number}") for number in range(NUM_KEYS)], PLENTY)
    no_router, router = NoRouter(_CONFIG, replicas), Router(_CONFIG, replicas)
    arms = [(NoGuard(keys), no_router), (Guard(keys), no_router), (NoGuard(keys), router)]
    times_us: tuple[list[float], list[float], list[float]] = ([], [], [])
    async with contextlib.AsyncExitStack() as stack:
        session = await stack.enter_async_context(aiohttp.ClientSession())
        urls = [await stack.enter_async_context(_served(guard, way, tokenizer)) for guard, way in arms]
        for number in range(num_rounds + 1):
            order = range(len(urls)) if number % 2 else reversed(range(len(urls)))
            for arm in order:
                taken_us = await _ask(session, urls[arm])
                if number:
                    times_us[arm].append(taken_us)
    return times_us


@contextlib.asynccontextmanager
async def _served(guard: Guard, router: Router, tokenizer: PromptTokenizer) -> AsyncIterator[str]:
    """Serve with these parts and yield the address."""
    metrics = Metrics(_MODEL, router.ready())
    completions = Completions(_MODEL, tokenizer, router, metrics, 8, 100_000, _CONFIG)
    runner = web.AppRunner(make_app(guard, completions, metrics, router.ready(), _MODEL), access_log=None)
    await runner.setup()
    try:
        with listening(runner, guard, "127.0.0.1", 0) as port:
            yield f"http://127.0.0.1:{port}/v1/completions"
    finally:
        await runner.cleanup()


async def _ask(session: aiohttp.ClientSession, url: str) -> float:
    """Return how long a request of one token takes, in µs."""
    body = {"model": _MODEL, "prompt": PROMPT_IDS, "max_tokens": 1}
    start_ns = time.perf_counter_ns()
    async with session.post(url, json=body, headers={"Authorization": f"Bearer {KEY}-7"}) as response:
        await response.read()
        response.raise_for_status()
    return (time.perf_counter_ns() - start_ns) / 1000

"""One engine process as the API process sees it: started here, spoken to over a socket pair, never outliving us."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import socket
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from demo_engine.api.histogram import Histogram
from demo_engine.core.config import EngineConfig
from demo_engine.core.request import LastTokenReason, TokenLogprobs
from demo_engine.errors import EngineError
from demo_engine.ipc.messages import (
    Aborted,
    Accepted,
    Beat,
    Cancel,
    Failed,
    FrameBuffer,
    FromEngine,
    Ping,
    Pong,
    Ready,
    Started,
    StepsQuery,
    StepsReply,
    Submit,
    ToEngine,
    Tokens,
    decode_from_engine,
    pack,
)

ENGINE_MODULE = "demo_engine.runner"
LOOK_S = 0.2
SILENT_LOOKS = 5
"""An engine that was not heard from between so many looks, a second, is not ready."""
HANGING_LOOKS = 25
"""After so many it will not come back by itself."""
EXIT_GRACE_S = 5.0
NUM_PINGS = 200
ITERATION_BOUNDS = (1, 8, *(2**power for power in range(4, 15)))
"""Bounds for the tokens that a step computes; vLLM has the same."""


class TokenEvent(msgspec.Struct, frozen=True):
    """A token of one request, the step that made it, and when the API process read it."""

    token_id: int
    finish_reason: LastTokenReason | None
    step: Tokens
    read_ns: int
    logprobs: TokenLogprobs | None = None


class ReplicaLost(msgspec.Struct, frozen=True):
    """The engine has died, or is being shut down."""

    reason: str


RequestEvent = Accepted | Started | TokenEvent | Aborted | ReplicaLost


class Replica(asyncio.Protocol):
    """An engine process and the requests that it serves.

    Its silence is counted in looks of the event loop, not in time: while the loop itself was busy it heard nobody.
    """

    def __init__(self, model_folder: Path, config: EngineConfig, index: int = 0) -> None:
        self.index = index
        self.config = config
        self.iteration_tokens = Histogram(ITERATION_BOUNDS)  # of the steps that came to their end
        self.gauges = Beat(0, 0, 0, config.num_kv_blocks, 0)
        self.bracket_ns = 0
        self.ready: Ready | None = None
        self.lost: str | None = None
        self._model_folder = model_folder
        self._process: asyncio.subprocess.Process | None = None
        self._transport: asyncio.WriteTransport | None = None
        self._frames = FrameBuffer()
        self._last_heard_ns = 0
        self._num_silent_looks = 0
        self._ready_event = asyncio.Event()
        self._requests: dict[str, asyncio.Queue[RequestEvent]] = {}
        self._running: set[str] = set()
        self._replies: dict[int, asyncio.Future[Pong | StepsReply]] = {}
        self._numbers = itertools.count()

    @property
    def num_running(self) -> int:
        """Requests that have left its queue and are not over."""
        return len(self._running)

    @property
    def num_waiting(self) -> int:
        """Requests that have been given to it and have not left its queue, as far as it has said."""
        return len(self._requests) - len(self._running)

    @property
    def silent_ms(self) -> int | None:
        """How long ago the process was heard from; it beats between two layers, however long its step is."""
        return (time.perf_counter_ns() - self._last_heard_ns) // 1_000_000 if self._last_heard_ns else None

    @property
    def is_ready(self) -> bool:
        """Whether the model is loaded and the process has been heard from just now."""
        return self.why_not_ready() is None

    def why_not_ready(self) -> str | None:
        """Return what is amiss, or None."""
        if self.lost is not None:
            return self.lost
        if self.ready is None:
            return "the model is being loaded"
        if self._num_silent_looks >= SILENT_LOOKS:
            return f"the engine has been silent for {self.silent_ms} ms"
        return None

    @property
    def hangs(self) -> bool:
        """Whether it has been silent for so long that it must be given up."""
        return self._num_silent_looks >= HANGING_LOOKS

    def look(self) -> None:
        """Count a look at it; whoever watches it does so every ``LOOK_S`` seconds."""
        self._num_silent_looks += 1

    def give_up(self, reason: str) -> None:
        """Kill the process, whatever it is doing, and tell everyone who waits."""
        self._lose(reason)
        if self._process is not None and self._process.returncode is None:
            self._process.kill()

    async def start(self) -> None:
        """Start the process and wait until its model is loaded.

        Raises:
            EngineError: It could not load the model.
        """
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        with theirs:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", ENGINE_MODULE, str(theirs.fileno()), str(self._model_folder),
                msgspec.json.encode(self.config).decode(), pass_fds=[theirs.fileno()],
                env=os.environ | self.config.environment, stdin=asyncio.subprocess.DEVNULL,
            )  # fmt: skip
        await asyncio.get_running_loop().create_connection(lambda: self, sock=ours)
        await self._ready_event.wait()
        if self.lost is not None:
            raise EngineError(f"the engine process did not start: {self.lost}")
        await self._measure_bracket()

    async def stop(self) -> None:
        """Close the socket, which ends the process; kill it if it does not."""
        self._lose("the server is shutting down")
        if self._transport is not None:
            self._transport.close()
        if self._process is None:
            return
        try:
            await asyncio.wait_for(self._process.wait(), EXIT_GRACE_S)
        except TimeoutError:
            self._process.kill()
            await self._process.wait()

    def submit(self, message: Submit) -> asyncio.Queue[RequestEvent]:
        """Hand over a request; its events come out of the queue, a token with a finish reason or a loss last."""
        queue: asyncio.Queue[RequestEvent] = asyncio.Queue()
        if self.lost is not None:
            queue.put_nowait(ReplicaLost(self.lost))
            return queue
        self._requests[message.request_id] = queue
        self._send(message)
        return queue

    def cancel(self, request_id: str) -> None:
        """Drop a request that nobody waits for; nothing happens if it is over."""
        if self._forget(request_id):
            self._send(Cancel(request_id))

    async def steps(self, first: int, last: int) -> StepsReply:
        """Ask for the record of steps."""
        reply = await self._ask(lambda number: StepsQuery(number, first, last))
        return reply if isinstance(reply, StepsReply) else StepsReply(0, {}, [], [])

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        if isinstance(transport, asyncio.WriteTransport):
            self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Stamp what was read and pass it on."""
        read_ns = self._last_heard_ns = time.perf_counter_ns()
        self._num_silent_looks = 0
        for body in self._frames.feed(data):
            self._dispatch(decode_from_engine(body), read_ns)

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell everyone who waits that the engine is gone."""
        self._lose("the engine process ended unexpectedly")

    def _dispatch(self, message: FromEngine, read_ns: int) -> None:
        match message:
            case Tokens():
                self._pass_on_tokens(message, read_ns)
            case Accepted():
                self._pass_on(message.request_id, message)
            case Aborted():
                self._pass_on(message.request_id, message)
                self._forget(message.request_id)
            case Started():
                self._running |= self._requests.keys() & message.request_ids
                for request_id in message.request_ids:
                    self._pass_on(request_id, message)
            case Beat():
                self.gauges = message
            case Pong() | StepsReply():
                future = self._replies.pop(message.number, None)
                if future is not None and not future.done():
                    future.set_result(message)
            case Ready():
                self.ready = message
                self._ready_event.set()
            case Failed():
                self._lose(message.reason)

    def _pass_on_tokens(self, step: Tokens, read_ns: int) -> None:
        self.iteration_tokens.observe(step.num_computed)
        for token in step.tokens:
            event = TokenEvent(token.token_id, token.finish_reason, step, read_ns, token.logprobs)
            self._pass_on(token.request_id, event)
            if token.finish_reason is not None:
                self._forget(token.request_id)

    def _pass_on(self, request_id: str, event: RequestEvent) -> None:
        if request_id in self._requests:
            self._requests[request_id].put_nowait(event)

    def _forget(self, request_id: str) -> bool:
        """Strike a request off the list; return whether it was there."""
        self._running.discard(request_id)
        return self._requests.pop(request_id, None) is not None

    def _send(self, message: ToEngine) -> None:
        if self._transport is not None:
            self._transport.write(pack(message))

    async def _ask(self, question: Callable[[int], ToEngine]) -> Pong | StepsReply | None:
        if self.lost is not None:
            return None
        number = next(self._numbers)
        future: asyncio.Future[Pong | StepsReply] = asyncio.get_running_loop().create_future()
        self._replies[number] = future
        self._send(question(number))
        with contextlib.suppress(asyncio.CancelledError):
            return await future
        return None

    def _lose(self, reason: str) -> None:
        if self.lost is not None:
            return
        self.lost = reason
        for queue in self._requests.values():
            queue.put_nowait(ReplicaLost(reason))
        self._requests.clear()
        self._running.clear()
        for future in self._replies.values():
            future.cancel()
        self._replies.clear()
        self._ready_event.set()

    async def _measure_bracket(self) -> None:
        """Exchange pings: half the round trip bounds the error of one edge between the two processes.

        Raises:
            EngineError: A stamp of the engine lies outside its bracket, so the processes do not share a clock.
        """
        halves = []
        for _ in range(NUM_PINGS):
            sent_ns = time.perf_counter_ns()
            pong = await self._ask(Ping)
            received_ns = time.perf_counter_ns()
            if not isinstance(pong, Pong):
                return
            if not sent_ns <= pong.read_ns <= received_ns:
                raise EngineError("the API and the engine process do not share one clock; their spans cannot be joined")
            halves.append((received_ns - sent_ns) // 2)
        self.bracket_ns = int(statistics.median(halves))

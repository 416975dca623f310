"""The engine process's end of the socket: reads without waiting between layers, writes what the loop hands out."""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Sequence

from demo_engine.core.loop import NewToken
from demo_engine.core.request import EngineRequest
from demo_engine.core.step_log import StepTimes
from demo_engine.ipc.messages import (
    Aborted,
    FrameBuffer,
    FromEngine,
    Started,
    ToEngine,
    Token,
    Tokens,
    decode_to_engine,
    pack,
)

_READ_BYTES = 1 << 16


class ApiGoneError(Exception):
    """The API process has closed the socket, or died."""


class Link:
    """Messages from and to the API process."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._frames = FrameBuffer()

    def send(self, message: FromEngine) -> None:
        """Write a message.

        Raises:
            ApiGoneError: Nobody reads any more.
        """
        try:
            self._socket.sendall(pack(message))
        except OSError as error:
            raise ApiGoneError from error

    def receive(self, timeout_s: float) -> list[tuple[ToEngine, int]]:
        """Return the messages that are here, each with the instant at which it was read.

        Args:
            timeout_s: How long to wait for the first; 0 does not wait.

        Raises:
            ApiGoneError: The other end is closed.
        """
        messages: list[tuple[ToEngine, int]] = []
        while select.select([self._socket], [], [], 0 if messages else timeout_s)[0]:
            try:
                data = self._socket.recv(_READ_BYTES)
            except OSError as error:
                raise ApiGoneError from error
            if not data:
                raise ApiGoneError
            read_ns = time.perf_counter_ns()
            messages += [(decode_to_engine(body), read_ns) for body in self._frames.feed(data)]
        return messages

    def started(self, requests: Sequence[EngineRequest], start_ns: int) -> None:
        """Tell that requests have left the queue."""
        self.send(Started([r.id for r in requests], start_ns, [r.num_cached_tokens or 0 for r in requests]))

    def tokens(self, step: int, times: StepTimes, tokens: Sequence[NewToken], num_computed: int) -> None:
        """Hand out a step's tokens, and how many it has computed for them."""
        rows = [Token(t.request_id, t.token_id, t.finish_reason, t.logprobs) for t in tokens]
        self.send(
            Tokens(
                step, times.start_ns, times.planned_ns, times.forwarded_ns, times.sampled_ns,
                sent_ns=time.perf_counter_ns(), tokens=rows, num_computed=num_computed,
            )
        )  # fmt: skip

    def failed(self, request_id: str, reason: str, *, is_refusal: bool = False) -> None:
        """Tell that one request has ended with an error."""
        self.send(Aborted(request_id, reason, is_refusal))

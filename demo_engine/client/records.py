"""What the client is asked to do, and what it saw. All times are ``perf_counter_ns`` of the host."""

from __future__ import annotations

from typing import Literal

import msgspec

from demo_engine.network.config import EdgeConfig
from demo_engine.recorder.server_trace import ServerTrace
from demo_engine.recorder.startup import Launch


class After(msgspec.Struct, frozen=True):
    """A start that depends on another request of the run: while it decodes, inside one of its steps."""

    call: str
    """Id of the request that is waited for."""
    tokens: int = 3
    """The start lies after this many of its tokens,"""
    step_share: float = 0.35
    """and after this share of the time between its last two."""


class Call(msgspec.Struct, frozen=True):
    """One streamed, greedy request, or a text that is only cut into tokens.

    Its reply has a fixed length unless a stop string or a schema ends it before.
    """

    id: str
    """Its name in the trace, such as ``r7``."""
    prompt: str
    max_tokens: int
    role: Literal["subject", "neighbour"] = "subject"
    at_ms: float = 0.0
    """Intended start, from the run's first; of no meaning with ``after``."""
    after: After | None = None
    chat: bool = True
    """Through the chat template; without, the text is the prompt as it stands."""
    tokenize: bool = False
    """Ask ``/tokenize`` alone: the request never reaches an engine, has no output, and ``max_tokens`` is not sent."""
    stop: list[str] = []
    """Stop strings."""
    json_schema: str | None = None
    """What the reply must be, as JSON text."""
    keep_text: bool = False
    """Whether prompt and answer are stored with the trace."""


class ConnectionUse(msgspec.Struct, frozen=True):
    """What requests have in common on the way to the server."""

    connection: Literal["new", "reused"] = "new"
    """A connection for each request, or one that was opened before the run."""
    tls_context: Literal["shared", "fresh"] = "shared"
    """With TLS: made before the run, or for each new connection, as by a client object that is made for each."""


class RunPlan(msgspec.Struct, frozen=True):
    """The requests of one run. Starts do not wait for replies (open loop), but for those of ``after``."""

    calls: list[Call]
    use: ConnectionUse = ConnectionUse()


class CallRecord(msgspec.Struct):
    """When one request's events happened at the client; written by the call as they come."""

    intended_start_ns: int
    connect_start_ns: int = 0
    """When a connection was asked for; a kept one stands at the same instant."""
    connected_ns: int = 0
    end_ns: int = 0
    event_ns: list[int] = []
    """When each data event of the reply was read, the final ``[DONE]`` aside."""
    request_id: str = ""
    tls_start_ns: int = 0
    """When TLS began on a new connection; 0 without."""


class CallResult(msgspec.Struct, frozen=True):
    """Both sides of one request, or why it failed."""

    client: CallRecord
    server: ServerTrace | None = None
    failure: str | None = None


class RunResult(msgspec.Struct, frozen=True):
    """One run, with anchors between the two clocks taken at its start and its end."""

    start_wall_ns: int
    start_perf_ns: int
    end_wall_ns: int
    end_perf_ns: int
    calls: list[CallResult]
    """In the order of the plan."""
    edge: EdgeConfig = EdgeConfig()
    """What the requests went through."""
    bracket_ns: int | None = None
    """Median half-width of the send/receive bracket between client and server, measured just before."""
    launch: Launch | None = None
    """The start of the server, if the run waited for it; like what follows, known to the process that started it."""
    resident_bytes: int | None = None
    """Memory that the server's processes held when the run was over, 0 if they ended with it."""

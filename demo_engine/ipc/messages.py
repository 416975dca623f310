"""The messages, and how they are framed: four bytes of length, then MessagePack."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import msgspec

from demo_engine.core.request import LastTokenReason, SamplingParams, TokenLogprobs

MAX_FRAME_BYTES = 64 * 2**20
_LENGTH = struct.Struct("<I")


class Submit(msgspec.Struct, frozen=True, tag=True):
    """API → engine: a request to serve."""

    request_id: str
    prompt_ids: list[int]
    sampling: SamplingParams
    priority: int = 0


class Cancel(msgspec.Struct, frozen=True, tag=True):
    """API → engine: nobody waits for this request any more."""

    request_id: str


class Ping(msgspec.Struct, frozen=True, tag=True):
    """API → engine: answer with your clock."""

    number: int


class StepsQuery(msgspec.Struct, frozen=True, tag=True):
    """API → engine: send the record of these steps."""

    number: int
    first: int
    last: int


class Ready(msgspec.Struct, frozen=True, tag=True):
    """Engine → API: the model is loaded."""

    linear_kernel: str
    load_ns: int
    num_parameters: int
    sent_ns: int = 0
    """The engine's clock when it was loaded."""


class GrammarTimes(msgspec.Struct, frozen=True):
    """What a request's grammar took, until it was ready."""

    ready_ns: int
    tables_ns: int
    """Time for the tokenizer's tables, which the first grammar needs."""
    compile_ns: int
    is_cached: bool


class Accepted(msgspec.Struct, frozen=True, tag=True):
    """Engine → API: the request was read. ``step`` is the number of the step that runs now or comes next."""

    request_id: str
    read_ns: int
    step: int
    grammar: GrammarTimes | None = None


class Started(msgspec.Struct, frozen=True, tag=True):
    """Engine → API: these requests have left the queue with the step that began at ``start_ns``."""

    request_ids: list[str]
    start_ns: int
    num_cached_tokens: list[int]
    """Tokens of each prompt that were found in the cache."""


class Token(msgspec.Struct, frozen=True, array_like=True):
    """A token of one request."""

    request_id: str
    token_id: int
    finish_reason: LastTokenReason | None
    logprobs: TokenLogprobs | None = None


class Tokens(msgspec.Struct, frozen=True, tag=True):
    """Engine → API: what a step produced, and its times so far. ``sent_ns`` was taken just before sending."""

    step: int
    start_ns: int
    planned_ns: int
    forwarded_ns: int
    sampled_ns: int
    sent_ns: int
    tokens: list[Token]
    num_computed: int = 0
    """Tokens that it computed for them, those of prompts included."""


class Aborted(msgspec.Struct, frozen=True, tag=True):
    """Engine → API: this request, and no other, ended with an error."""

    request_id: str
    reason: str
    is_refusal: bool = False
    """Whether the request itself is to blame."""


class Beat(msgspec.Struct, frozen=True, tag=True):
    """Engine → API: alive, with the gauges of this instant."""

    running: int
    waiting: int
    kv_blocks_used: int
    kv_blocks_total: int
    num_steps: int
    num_preemptions: int = 0


class Pong(msgspec.Struct, frozen=True, tag=True):
    """Engine → API: the engine's clock when it read the ping."""

    number: int
    read_ns: int


class StepsReply(msgspec.Struct, frozen=True, tag=True):
    """Engine → API: steps as columns; empty if they are no longer recorded."""

    number: int
    columns: dict[str, list[int]]
    request_ids: list[list[str]]
    preempted_ids: list[list[str]]


class Failed(msgspec.Struct, frozen=True, tag=True):
    """Engine → API: the engine cannot go on."""

    reason: str


ToEngine = Submit | Cancel | Ping | StepsQuery
FromEngine = Ready | Accepted | Started | Tokens | Aborted | Beat | Pong | StepsReply | Failed

_encoder = msgspec.msgpack.Encoder()
_to_engine = msgspec.msgpack.Decoder(ToEngine)
_from_engine = msgspec.msgpack.Decoder(FromEngine)


def pack(message: ToEngine | FromEngine) -> bytes:
    """Return the message as one frame."""
    body = _encoder.encode(message)
    return _LENGTH.pack(len(body)) + body


class FrameBuffer:
    """Cuts a byte stream into frames."""

    def __init__(self) -> None:
        self._data = bytearray()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Add what was read and yield the bodies that are whole.

        Raises:
            ValueError: A frame is longer than the limit.
        """
        self._data += data
        while len(self._data) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._data)
            if length > MAX_FRAME_BYTES:
                raise ValueError(f"frame of {length} bytes, limit {MAX_FRAME_BYTES}")
            end = _LENGTH.size + length
            if len(self._data) < end:
                return
            body = bytes(self._data[_LENGTH.size : end])
            del self._data[:end]
            yield body


def decode_to_engine(body: bytes) -> ToEngine:
    """Decode a message for the engine."""
    return _to_engine.decode(body)


def decode_from_engine(body: bytes) -> FromEngine:
    """Decode a message from the engine."""
    return _from_engine.decode(body)

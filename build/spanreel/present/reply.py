"""Reads the engine's streamed reply: text, spans in comment lines, and its end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

MAX_LINE_BYTES = 65_536
_SPAN_COMMENT = b": span "
_DATA = b"data: "
_DONE = b"[DONE]"


class ReplyError(Exception):
    """The reply is none that an OpenAI-compatible server sends; the message says what came, in a few words."""


class ReportedSpan(msgspec.Struct, frozen=True):
    """A stage as the engine reports it, counted from the instant at which it had read the headers."""

    name: str
    start_ns: int
    duration_ns: int


@dataclass(frozen=True, slots=True)
class Text:
    """More of the answer."""

    text: str


class ReplyReader:
    """Cuts the bytes of a reply into news."""

    def __init__(self) -> None:
        self.is_done = False
        """Whether the reply has said that it is complete."""
        self._pending = b""

    def feed(self, data: bytes) -> list[ReportedSpan | Text]:
        """Take the next bytes and return what they complete.

        Raises:
            ReplyError: A line is too long, no JSON of the right shape, or an error event.
        """
        *lines, self._pending = (self._pending + data).split(b"\n")
        if max(map(len, (*lines, self._pending))) > MAX_LINE_BYTES:
            raise ReplyError("engine sent an endless line")
        return [news for line in lines if (news := self._read(line.rstrip(b"\r"))) is not None]

    def _read(self, line: bytes) -> ReportedSpan | Text | None:
        try:
            if line.startswith(_SPAN_COMMENT):
                return msgspec.json.decode(line.removeprefix(_SPAN_COMMENT), type=ReportedSpan)
            if line.startswith(_DATA):
                return self._read_data(line.removeprefix(_DATA))
        except (msgspec.DecodeError, LookupError, TypeError, AttributeError) as error:
            raise ReplyError("engine sent garbage") from error
        if line and not line.startswith((b":", b"event:", b"id:", b"retry:")):
            raise ReplyError("engine sent garbage")
        return None

    def _read_data(self, data: bytes) -> Text | None:
        if data == _DONE:
            self.is_done = True
            return None
        chunk: dict[str, Any] = msgspec.json.decode(data)
        if "error" in chunk:
            raise ReplyError("engine reported an error")
        text = chunk["choices"][0]["delta"].get("content") if chunk["choices"] else None
        if text is not None and not isinstance(text, str):
            raise ReplyError("engine sent garbage")
        return Text(text) if text else None

"""The engine's reply is read the same however it is cut, and anything else is refused."""

from __future__ import annotations

import pytest

from spanreel.present.reply import MAX_LINE_BYTES, ReplyError, ReplyReader, ReportedSpan, Text

REPLY = (
    b': span {"name": "queue", "component": "queue", "start_ns": 5, "duration_ns": 7}\n\n'
    b'data: {"choices": [{"delta": {"role": "assistant", "content": ""}}]}\n\n'
    b'data: {"choices": [{"delta": {"content": "\xc3\x80 Gen"}}], "usage": null}\r\n\r\n'
    b": a comment that means nothing\n\n"
    b'data: {"choices": [{"delta": {}, "finish_reason": "stop"}]}\n\n'
    b'data: {"choices": [], "usage": {"completion_tokens": 1}}\n\n'
    b"data: [DONE]\n\n"
)


@pytest.mark.parametrize("size", [1, 2, 7, 64, len(REPLY)])
def test_news_do_not_depend_on_how_the_bytes_arrive(size):
    """Every cut of a reply yields the same spans and text."""
    reader = ReplyReader()
    news = [item for start in range(0, len(REPLY), size) for item in reader.feed(REPLY[start : start + size])]
    assert news == [ReportedSpan("queue", 5, 7), Text("À Gen")]
    assert reader.is_done


@pytest.mark.parametrize(
    "line",
    [
        b"HTTP/1.1 200 OK", b"\xff\x00", b"data: {", b"data: 7", b"data: []", b'data: {"choices": 7}',
        b'data: {"choices": [{}]}', b'data: {"choices": [{"delta": {"content": 7}}]}', b": span {}",
        b': span {"name": "a", "start_ns": "b", "duration_ns": 1}', b'data: {"error": {"message": "lost"}}',
    ],
)  # fmt: skip
def test_what_is_no_reply_is_refused(line):
    """Garbage raises one kind of error, whatever is wrong with it."""
    with pytest.raises(ReplyError):
        ReplyReader().feed(line + b"\n")


def test_an_endless_line_is_refused():
    """A line without an end does not fill the memory."""
    reader = ReplyReader()
    reader.feed(b"x" * MAX_LINE_BYTES)
    with pytest.raises(ReplyError, match="endless"):
        reader.feed(b"x")


def test_a_reply_without_its_end_is_not_done():
    """Only the closing mark says that the reply is complete."""
    reader = ReplyReader()
    reader.feed(REPLY.removesuffix(b"data: [DONE]\n\n"))
    assert not reader.is_done

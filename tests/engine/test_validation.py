"""Request bodies: what is accepted, what is ignored, what is refused with 400."""

from __future__ import annotations

import contextlib

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from demo_engine.api.errors import ApiError
from demo_engine.api.validation import ChatRequest, CompletionRequest, parse

MINIMAL = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


def parse_chat(**fields) -> ChatRequest:
    """Parse a minimal chat request with some fields set."""
    return parse(msgspec.json.encode(MINIMAL | fields), ChatRequest)


def test_unknown_fields_and_neutral_values_are_accepted():
    """Clients send many fields; those without an effect pass."""
    body = parse_chat(
        n=1, stop=[], logit_bias={}, logprobs=False, tools=[], user="u", metadata={},
        response_format={"type": "text"}, stream_options={"include_usage": True, "include_obfuscation": False},
    )  # fmt: skip
    assert body.wants_usage


def test_content_parts_are_joined():
    """A message may come as a list of text parts; a developer's message is a system message."""
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    body = parse_chat(messages=[{"role": "developer", "content": parts}])
    assert body.messages[0].plain() == ("system", "ab")


def test_what_steers_the_sampling_is_read():
    """Every field that has an effect arrives with its value; one stop string may stand without a list."""
    body = parse_chat(
        top_p=0.9, top_k=5, min_p=0.1, presence_penalty=-2, frequency_penalty=2, repetition_penalty=1.2, seed=-(2**63),
        logprobs=True, top_logprobs=20, priority=-3, stop="x" * 64,
    )  # fmt: skip
    assert (body.top_p, body.top_k, body.min_p, body.priority, body.num_logprobs) == (0.9, 5, 0.1, -3, 20)
    assert body.stops == ["x" * 64]
    assert parse_chat().num_logprobs is None
    assert parse_chat(logprobs=True).num_logprobs == 0


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("n", 2), ("echo", True), ("suffix", "x"), ("chat_template", "{{ 1 }}"), ("functions", [{}]),
        ("tools", [{}]), ("logit_bias", {"5": 1}), ("best_of", 2),
    ],
)  # fmt: skip
def test_a_value_that_is_not_supported_is_refused_by_name(field, value):
    """What would change the answer, and is not implemented, is 400 instead of being ignored."""
    with pytest.raises(ApiError) as refused:
        parse_chat(**{field: value})
    assert (refused.value.status, refused.value.param, refused.value.code) == (400, field, "unsupported_value")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("max_tokens", 0), ("max_tokens", -1), ("max_tokens", 2**63), ("max_tokens", "5"), ("max_tokens", 1.5),
        ("temperature", -0.1), ("temperature", 2.1), ("seed", 2**63), ("top_p", 0), ("top_p", 1.1), ("top_k", -2),
        ("min_p", 1.1), ("presence_penalty", 2.1), ("frequency_penalty", -2.1), ("repetition_penalty", 0),
        ("priority", 2**31), ("stop", ""), ("stop", "x" * 65), ("stop", "é" * 33), ("stop", ["a"] * 5), ("stop", [1]),
        ("top_logprobs", 21), ("top_logprobs", 2), ("logprobs", 1), ("temperature", 1e308),
        ("messages", []), ("messages", "hi"),
        ("messages", [{"role": "tool", "content": "x"}]), ("messages", [{"role": "user", "content": None}]),
        ("messages", [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]), ("model", None),
    ],
)  # fmt: skip
def test_a_wrong_type_or_range_is_refused(field, value):
    """Every bound is checked on both sides."""
    with pytest.raises(ApiError) as refused:
        parse_chat(**{field: value})
    assert refused.value.status == 400


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"null", b'{"model": NaN}', b"\xff\xfe", b"[" * 100_000, b'{"a":' * 50_000]
)
def test_what_is_not_a_json_object_is_refused(body):
    """Broken, deep and foreign JSON is 400, never a crash."""
    with pytest.raises(ApiError) as refused:
        parse(body, ChatRequest)
    assert refused.value.status == 400


@given(st.binary(max_size=200))
def test_random_bytes_never_crash_the_parser(body):
    """Any bytes are either a request or a refusal."""
    with contextlib.suppress(ApiError):
        parse(body, CompletionRequest)

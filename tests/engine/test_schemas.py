"""The bounds of ``response_format``: what is refused before anything is compiled."""

from __future__ import annotations

import json

import msgspec
import pytest

from demo_engine.api.errors import ApiError
from demo_engine.api.schemas import MAX_SCHEMA_BYTES, ResponseFormat
from demo_engine.api.validation import ChatRequest, parse


def schema_text(response_format) -> str | None:
    """Send the field in a body and return the schema that comes out."""
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "response_format": response_format}
    found = parse(json.dumps(body).encode(), ChatRequest).response_format
    return None if found is None else found.schema_text()


def with_schema(schema, **fields):
    """Return the field with a schema."""
    return {"type": "json_schema", "json_schema": {"name": "x", "schema": schema} | fields}


def nested(depth: int):
    """Return lists in lists."""
    return [nested(depth - 1)] if depth else 1


def test_text_and_nothing_ask_for_nothing():
    """The default needs no grammar."""
    assert schema_text(None) is None
    assert schema_text({"type": "text"}) is None


def test_a_schema_arrives_as_it_was_sent():
    """With the order of its properties; name, strictness and description have no effect."""
    schema = {"type": "object", "properties": {"z": {}, "a": {"const": "☕"}}}
    assert json.loads(schema_text(with_schema(schema, strict=True, description="d"))) == schema
    assert list(json.loads(schema_text(with_schema(schema)))["properties"]) == ["z", "a"]
    assert json.loads(schema_text({"type": "json_object"})) == {"type": "object"}


@pytest.mark.parametrize(
    "response_format",
    [
        {"type": "json_schema"}, {"type": "json_schema", "json_schema": {}}, {"type": "grammar"}, {}, "json_object", [],
        with_schema([]), with_schema(True), with_schema("x"), with_schema({"x-guidance": {"lenient": True}}),
        with_schema({"const": "x" * MAX_SCHEMA_BYTES}), with_schema({"const": nested(64)}),
        with_schema({"multipleOf": 123_457}), with_schema({"multipleOf": 1e9}), with_schema({"multipleOf": 0.123457}),
        with_schema({"allOf": [{"multipleOf": 97}, {"multipleOf": 89}, {"items": {"multipleOf": 83}}]}),
    ],
    ids=lambda value: str(value)[:60],
)  # fmt: skip
def test_what_is_out_of_bounds_is_refused_by_name(response_format):
    """Each is 400, and names the field."""
    with pytest.raises(ApiError) as refused:
        schema_text(response_format)
    assert refused.value.status == 400
    assert refused.value.param.startswith("response_format")


@pytest.mark.parametrize("number", [5, 0.01, 2.5, 1000, 0, "x", None, True])
def test_a_small_divisor_is_let_through(number):
    """What is no number is left to the compiler, which refuses it."""
    assert schema_text(with_schema({"multipleOf": number}))


def test_a_schema_is_not_copied_by_its_encoding():
    """A schema that another encoder wrote, with spaces and escapes, is the very text that came."""
    raw = b'{ "type" :"json_schema","json_schema":{"schema": {"const": "\\u2615"  } }}'
    assert msgspec.json.decode(raw, type=ResponseFormat).schema_text() == '{"const": "\\u2615"  }'

"""What a reply must be: the field ``response_format``, bounded before anything looks into its schema."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from demo_engine.api.errors import ApiError

MAX_SCHEMA_BYTES = 32_768
MAX_SCHEMA_DEPTH = 64
_ANY_OBJECT = '{"type":"object"}'
_COMPILER_OPTIONS = "x-guidance"


class NamedSchema(msgspec.Struct, frozen=True):
    """A schema as clients send it; its name and the other fields have no effect."""

    schema: msgspec.Raw


class ResponseFormat(msgspec.Struct, frozen=True):
    """The field ``response_format``."""

    type: Literal["text", "json_object", "json_schema"]
    json_schema: NamedSchema | None = None

    def schema_text(self) -> str | None:
        """Return the JSON schema that the reply must follow, or None if it may be any text.

        Raises:
            ApiError: The schema is missing, too large, too deep, or no object (400).
        """
        if self.type == "text":
            return None
        if self.type == "json_object":
            return _ANY_OBJECT
        if self.json_schema is None:
            raise _refusal("json_schema needs a schema")
        data = bytes(self.json_schema.schema)
        if len(data) > MAX_SCHEMA_BYTES:
            raise _refusal(f"the schema has {len(data)} bytes; at most {MAX_SCHEMA_BYTES} are taken")
        schema = _decode(data)
        if not isinstance(schema, dict):
            raise _refusal("the schema is no object")
        if _COMPILER_OPTIONS in schema:
            raise _refusal(f"the schema sets {_COMPILER_OPTIONS}; leave it out")
        _check_depth(schema)
        return data.decode()


def _decode(data: bytes) -> Any:
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError) as error:
        raise _refusal(f"the schema is not valid JSON: {error}") from error


def _check_depth(schema: Any) -> None:
    level = [schema]
    for _ in range(MAX_SCHEMA_DEPTH):
        level = [child for value in level for child in _children(value)]
        if not level:
            return
    raise _refusal(f"the schema is nested more than {MAX_SCHEMA_DEPTH} deep")


def _children(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _refusal(message: str) -> ApiError:
    return ApiError(400, message, param="response_format", code="invalid_value")

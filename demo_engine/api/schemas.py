"""What a reply must be: the field ``response_format``, bounded before anything looks into its schema."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any, Literal

import msgspec

from demo_engine.api.errors import ApiError

MAX_SCHEMA_BYTES = 32_768
MAX_SCHEMA_DEPTH = 64
MAX_DIVISOR_STATES = 10_000
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
        if _divisor_states(_all_values(schema)) > MAX_DIVISOR_STATES:
            raise _refusal("the schema's multipleOf is too fine; use few digits")
        return data.decode()


def _decode(data: bytes) -> Any:
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError) as error:
        raise _refusal(f"the schema is not valid JSON: {error}") from error


def _all_values(schema: Any) -> list[Any]:
    """Return the schema and all that stands in it, unless it is too deep."""
    values, level = [], [schema]
    for _ in range(MAX_SCHEMA_DEPTH):
        values += level
        level = [child for value in level for child in _children(value)]
        if not level:
            return values
    raise _refusal(f"the schema is nested more than {MAX_SCHEMA_DEPTH} deep")


def _children(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _divisor_states(values: list[Any]) -> int:
    """Return how many remainders an automaton must tell apart that divides by every ``multipleOf`` at once.

    The library bounds all else, but would follow every remainder of a large divisor, or of several.
    """
    divisors = [value["multipleOf"] for value in values if isinstance(value, dict) and "multipleOf" in value]
    return math.prod(_without_point(divisor) for divisor in divisors if type(divisor) in (int, float) and divisor)


def _without_point(number: float) -> int:
    """Return a decimal number's digits as a whole number: 25 for 0.25."""
    _, digits, exponent = Decimal(str(number)).as_tuple()
    zeros = "0" * max(0, int(exponent))
    return int("".join(map(str, digits)) + zeros)


def _refusal(message: str) -> ApiError:
    return ApiError(400, message, param="response_format", code="invalid_value")

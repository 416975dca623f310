"""Schemas: replies that must be JSON, mistakes in them that are the client's, neighbours that have none."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

from conformance.target import ANSWER, Target, case

CITY = {
    "type": "object",
    "properties": {"city": {"type": "string", "maxLength": 12}, "people": {"type": "integer"}},
    "required": ["city"],
    "additionalProperties": False,
}


def json_schema(schema) -> dict:
    """Return the field that asks for a schema."""
    return {"type": "json_schema", "json_schema": {"name": "reply", "schema": schema}}


@case("schemas", "omlx 2990, openai-python: response_format")
def a_reply_follows_its_schema(target: Target) -> None:
    """Whole and streamed, greedy and drawn, it parses, has what is required, and stops by itself."""
    for fields in ({}, {"temperature": 1.5, "seed": 3}):
        answer = target.chat(max_tokens=60, response_format=json_schema(CITY), **fields)
        assert answer.reason == "stop"
        assert answer.text.startswith("{")
        assert set(json.loads(answer.text)) in ({"city"}, {"city", "people"})
        events = target.chat_reply(max_tokens=60, response_format=json_schema(CITY), stream=True, **fields).events
        assert "".join(event["choices"][0]["delta"].get("content", "") for event in events) == answer.text


@case("schemas", "vllm 38696, atlas PR 143, omlx 2990, xgrammar 412")
def white_space_has_no_loop(target: Target) -> None:
    """Between the parts of a reply stands at most one space, so there is nothing to be caught in."""
    schema = {"type": "array", "items": {"enum": [1, "a b"]}, "minItems": 4, "maxItems": 4}
    for seed in range(3):
        answer = target.chat(max_tokens=60, response_format=json_schema(schema), temperature=2, seed=seed)
        assert answer.reason == "stop"
        assert answer.text == json.dumps(json.loads(answer.text))


@case("schemas", "vllm 35438, 17248, 57725, PR 28113")
def a_mistake_in_a_schema_is_the_clients_mistake(target: Target) -> None:
    """It is 400 with a message and the field's name, streamed or not, and the engine lives on."""
    for schema in (
        {"type": "not-a-type"}, {"properties": {"a": 1}}, {"pattern": "("}, {"enum": []}, {"uniqueItems": 1},
        {"$ref": "#/nowhere"}, {"type": "integer", "minimum": 3, "maximum": 2},
    ):  # fmt: skip
        for stream in (False, True):
            reply = target.chat_reply(response_format=json_schema(schema), stream=stream)
            assert (reply.status, reply.error["param"]) == (400, "response_format"), schema
    assert target.chat().text == ANSWER


@case("schemas", "vllm 57725")
def a_schema_that_refers_to_itself_alone_is_refused_at_once(target: Target) -> None:
    """Not in the middle of a reply; one that grows through itself is a schema like any other."""
    assert target.chat_reply(response_format=json_schema({"$ref": "#"})).status == 400
    tree = {"type": "object", "properties": {"a": {"$ref": "#"}}, "additionalProperties": False}
    assert target.chat(response_format=json_schema(tree)).text.startswith("{")


@case("schemas", "vllm PR 45346")
def degenerate_formats_are_refused(target: Target) -> None:
    """No schema at all, an empty text for one, a kind that does not exist."""
    for response_format in (
        {"type": "json_schema"}, {"type": "json_schema", "json_schema": None}, {"type": "json_schema", "schema": CITY},
        {"type": "json_schema", "json_schema": {"schema": ""}}, {"type": "json_object", "json_schema": 1}, 0,
    ):  # fmt: skip
        reply = target.chat_reply(response_format=response_format)
        assert reply.status == 400, response_format
        assert reply.error["param"].startswith("response_format")


@case("schemas", "vllm 11828, 4070")
def any_object_is_an_object(target: Target) -> None:
    """``json_object`` needs no schema, chat and plain."""
    for answer in (
        target.chat(response_format={"type": "json_object"}),
        target.complete("The capital as JSON:", response_format={"type": "json_object"}),
    ):
        assert answer.text.startswith("{")


@case("schemas", "vllm PR 22896, 19493, vllm-gaudi PR 1200, sglang PR 7321, mlx-vlm 1574")
def neighbours_of_a_schema_do_not_notice(target: Target) -> None:
    """In one batch, free replies stay as they are, and two under one schema are the same as one alone."""
    calls = [lambda: target.chat().text, lambda: target.chat(response_format=json_schema(CITY), max_tokens=40).text]
    alone = [call() for call in calls]
    assert alone[0] == ANSWER
    with ThreadPoolExecutor(4) as pool:
        futures = [pool.submit(call) for call in calls * 2]
    assert [future.result() for future in futures] == alone * 2

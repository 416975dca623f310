"""Replies under a schema and other text settings, from the real model through the real server."""

from __future__ import annotations

import asyncio
import itertools
import json
import threading

import msgspec
import openai
import pytest

from demo_engine.client.endpoint import Endpoint
from demo_engine.client.records import Call, RunPlan
from demo_engine.client.run import run as run_calls
from demo_engine.recorder.join import join_run
from demo_engine.recorder.span_types import span_types
from engine_server import QUESTION, chat_body, start_server, stop_server
from trace_factory import make_experiment
from traces import request_path
from traces.check import check_experiment

pytestmark = [pytest.mark.slow, pytest.mark.engine]

pytest.importorskip("llguidance")

NAME = {"type": "string", "maxLength": 20}
PERSON = {
    "type": "object",
    "properties": {"name": NAME, "age": {"type": "integer", "minimum": 0, "maximum": 150}},
    "required": ["name", "age"],
    "additionalProperties": False,
}
CITIES = {"type": "array", "items": {"enum": ["Paris", "Rome", "Žilina"]}, "minItems": 1, "maxItems": 3}
ADDRESS = {
    "type": "object",
    "properties": {"who": PERSON, "at": {"anyOf": [CITIES, {"type": "null"}]}, "ok": {"type": "boolean"}},
    "required": ["who", "at", "ok"],
    "additionalProperties": False,
}


def is_person(value) -> bool:
    """Whether a value follows the schema of a person."""
    return list(value) == ["name", "age"] and len(value["name"]) <= 20 and value["age"] in range(151)


def is_cities(value) -> bool:
    """Whether it follows that of a list of cities."""
    return 1 <= len(value) <= 3 and set(value) <= {"Paris", "Rome", "Žilina"}


def is_address(value) -> bool:
    """Whether it follows that of an address."""
    at_is_right = value["at"] is None or is_cities(value["at"])
    return list(value) == ["who", "at", "ok"] and is_person(value["who"]) and at_is_right and type(value["ok"]) is bool


SCHEMAS = [
    (PERSON, is_person), (CITIES, is_cities), (ADDRESS, is_address), ({"const": {"a": [1, "☕"]}}, bool),
    ({"type": "integer", "minimum": 7, "maximum": 9}, range(7, 10).__contains__),
]  # fmt: skip


def json_schema(schema) -> dict:
    """Return the field that asks for a schema."""
    return {"type": "json_schema", "json_schema": {"name": "reply", "schema": schema, "strict": True}}


@pytest.fixture
def client(server):
    """The openai package, pointed at the suite's server, without retries."""
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key=server.token, max_retries=0) as client:
        yield client


def token_ids(server, reply_id: str) -> list[int]:
    """Return the tokens of a finished request."""
    return json.loads(server.get(f"/v1/traces/{reply_id}"))["tokens"]["id"]


@pytest.mark.parametrize(("schema", "holds"), SCHEMAS, ids=["person", "cities", "address", "constant", "number"])
def test_the_reply_follows_its_schema(client, server, schema, holds):
    """Greedy and drawn, whole and streamed: it parses, and holds what the schema says."""
    body = chat_body(server, max_tokens=120, response_format=json_schema(schema))
    for fields in ({}, {"temperature": 1.0, "seed": 1}, {"temperature": 2.0, "seed": 2}):
        choice = client.chat.completions.create(**body | fields).choices[0]
        assert choice.finish_reason == "stop", choice.message.content
        assert holds(json.loads(choice.message.content)), choice.message.content
        stream = client.chat.completions.create(**body | fields, stream=True)
        chunks = [chunk.choices[0] for chunk in stream]
        assert "".join(chunk.delta.content or "" for chunk in chunks) == choice.message.content
        assert chunks[-1].finish_reason == "stop"


def test_a_plain_completion_may_have_a_schema_and_ignore_the_stop_token(client, server):
    """The end of the grammar is the end, and any object is an object."""
    body = {"model": server.model, "prompt": "The colours:", "temperature": 0, "max_tokens": 40}
    ends = {"response_format": json_schema(CITIES), "ignore_eos": True}
    reply = client.completions.create(**body, extra_body=ends).choices[0]
    assert reply.finish_reason == "stop"
    assert is_cities(json.loads(reply.text))
    anything = client.completions.create(**body, extra_body={"response_format": {"type": "json_object"}}).choices[0]
    assert anything.text.startswith("{")
    if anything.finish_reason == "stop":
        assert isinstance(json.loads(anything.text), dict)


def test_neighbours_in_the_batch_write_the_same_tokens(client, server):
    """With logits masked beside them, greedy and drawn neighbours choose as they do alone, and say the same odds."""
    bodies = [
        chat_body(server, max_tokens=24, ignore_eos=True, logprobs=True, top_logprobs=2, **fields)
        for fields in ({}, {"temperature": 1.0, "seed": 5})
    ]

    def ask(body):
        ignore_eos = {"ignore_eos": body["ignore_eos"]}
        known = {name: value for name, value in body.items() if name != "ignore_eos"}
        return client.chat.completions.create(**known, extra_body=ignore_eos)

    alone = [ask(body) for body in bodies]
    replies: dict[int, object] = {}
    threads = [
        threading.Thread(target=lambda key=key, body=body: replies.update({key: ask(body)}))
        for key, body in enumerate([*bodies, *[bodies[0] | {"response_format": json_schema(ADDRESS)}] * 2])
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for key, reply in enumerate(alone):
        assert token_ids(server, replies[key].id) == token_ids(server, reply.id)
        assert replies[key].choices[0].logprobs == reply.choices[0].logprobs
    trace = json.loads(server.get(f"/v1/traces/{replies[0].id}"))["steps"]
    shared = [len(ids) for ids, mask in zip(trace["request_ids"], trace["columns"]["mask_ns"], strict=True) if mask]
    assert max(shared) >= 2, "no step held a masked row and another"
    assert token_ids(server, replies[2].id) == token_ids(server, replies[3].id)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    "schema",
    [
        {"type": "banana"}, {"$ref": "#"}, {"not": {}}, {"pattern": "(("}, {"multipleOf": 1_234_567},
        {"type": "integer", "minimum": 2, "maximum": 1}, {"$ref": "http://127.0.0.1:1/x"}, {"properties": [0]},
    ],
    ids=str,
)  # fmt: skip
def test_a_schema_that_cannot_be_followed_is_the_clients_mistake(client, server, schema, stream):
    """It is 400 with the field's name, before any stream is opened."""
    with pytest.raises(openai.BadRequestError) as refused:
        client.chat.completions.create(**chat_body(server, response_format=json_schema(schema), stream=stream))
    assert refused.value.param == "response_format"


def test_the_first_schema_pays_for_the_tables_and_each_new_one_for_itself(own_server):
    """The span of the grammar says so, touches its neighbours, and stands only in requests that have one."""
    with openai.OpenAI(base_url=f"{own_server.url}/v1", api_key=own_server.token, max_retries=0) as client:
        formats = [{"type": "text"}, json_schema(PERSON), json_schema(CITIES), json_schema(PERSON)]
        ids = [
            client.chat.completions.create(**chat_body(own_server, max_tokens=30, response_format=kind)).id
            for kind in formats
        ]
    traces = [json.loads(own_server.get(f"/v1/traces/{reply_id}")) for reply_id in ids]
    spans = [[span for span in trace["spans"] if span["name"] == "grammar"] for trace in traces]
    assert [len(found) for found in spans] == [0, 1, 1, 1]
    first, new, known = (found[0]["attributes"] for found in spans[1:])
    assert first["tables_ns"] > 0 == new["tables_ns"] == known["tables_ns"]
    assert [first["is_cached"], new["is_cached"], known["is_cached"]] == [False, False, True]
    for trace in traces:
        edges = [(span["start_ns"], span["start_ns"] + span["duration_ns"]) for span in trace["spans"]]
        assert all(end == start for (_, end), (start, _) in itertools.pairwise(edges))
    masks = [trace["steps"]["columns"]["mask_ns"] for trace in traces]
    assert not any(masks[0])
    assert all(mask > 0 for mask in masks[1])


@pytest.fixture(scope="module")
def other_arms():
    """A server with a fixed hold-back, frames of four tokens, and tables that are made at its start."""
    server = start_server("--stop-hold-back=fixed", "--tokens-per-frame=4", "--grammar-tables=startup")
    yield server
    assert stop_server(server) == 0


def test_the_other_arms_send_the_same_text_in_other_pieces(other_arms, client, server):
    """Frames of four tokens under a hold-back of 19 characters; the trace says which event completed which token."""
    fields = {"stop": ["a" * 20], "max_tokens": 24}
    with openai.OpenAI(base_url=f"{other_arms.url}/v1", api_key=other_arms.token, max_retries=0) as other:
        body = chat_body(server, **fields, messages=[*QUESTION, *QUESTION])
        whole = client.chat.completions.create(**body).choices[0].message.content
        plain = [chunk.choices[0].delta.content for chunk in client.chat.completions.create(**body, stream=True)]
        chunks = list(other.chat.completions.create(**body, stream=True))
    pieces = [chunk.choices[0].delta.content or "" for chunk in chunks]
    assert "".join(pieces) == whole == "".join(piece or "" for piece in plain)
    assert len(pieces) < len(plain)
    tokens = json.loads(other_arms.get(f"/v1/traces/{chunks[0].id}"))["tokens"]
    known = ""
    for text, event in zip(tokens["text"], tokens["event"], strict=True):
        known += text
        assert "".join(pieces[: event + 1]).startswith(known)
    assert tokens["detok_ns"] == sorted(tokens["detok_ns"])


def test_tables_made_at_the_start_cost_the_first_request_nothing(other_arms):
    """The first schema of such a server pays only for itself."""
    with openai.OpenAI(base_url=f"{other_arms.url}/v1", api_key=other_arms.token, max_retries=0) as client:
        body = chat_body(other_arms, max_tokens=30, response_format=json_schema(PERSON))
        reply = client.chat.completions.create(**body)
    trace = json.loads(other_arms.get(f"/v1/traces/{reply.id}"))
    (grammar,) = [span for span in trace["spans"] if span["name"] == "grammar"]
    assert grammar["attributes"]["tables_ns"] == 0


def recorded(server, calls: list[Call], tmp_path):
    """Make a run as experiments do; return it joined and checked."""
    plan = RunPlan(calls)
    endpoint = Endpoint(server.url, server.token, server.model)
    run = join_run(plan, asyncio.run(run_calls(endpoint, plan)))
    experiment = msgspec.structs.replace(make_experiment(run), span_types=span_types(run.clock.bracket_ns))
    check_experiment(experiment, tmp_path)
    return experiment, run


def test_a_trace_holds_what_a_schema_took(server, tmp_path):
    """The grammar stands on the path between submission and queue, and each step says what the masks took."""
    calls = [
        Call("r1", "Name a city.", 4, at_ms=0),
        Call("r7", "Name a city.", 30, at_ms=1500, json_schema=json.dumps({"enum": ["Paris", "Rome"]})),
    ]
    experiment, run = recorded(server, calls, tmp_path)
    paths = [request_path(experiment, run, request) for request in run.requests]
    names = [[span.name for span in path] for path in paths]
    assert "grammar" not in names[0]
    where = names[1].index("grammar")
    assert (names[1][where - 1], names[1][where + 1]) == ("submit", "queue")
    span = paths[1][where]
    assert span.component == "tokenizer"
    assert span.duration_ns >= span.attributes["compile_ns"] + span.attributes["tables_ns"]
    masked = {step for step, mask_ns in enumerate(run.steps.mask_ns) if mask_ns}
    assert masked == set(run.requests[1].tokens.step)
    assert all(mask_ns <= run.steps.sample_ns[step] for step, mask_ns in enumerate(run.steps.mask_ns))
    assert run.requests[1].num_output_tokens < 30


def test_a_trace_shows_how_far_text_lags_behind_tokens(other_arms, tmp_path):
    """Under a fixed hold-back a token's text is known only once later tokens are; without a stop string at once."""
    calls = [
        Call("r1", "Count.", 12, at_ms=0, keep_text=True),
        Call("r7", "Count.", 12, at_ms=1500, stop=["~" * 30], keep_text=True),
    ]
    _, run = recorded(other_arms, calls, tmp_path)
    plain, held = (request.tokens for request in run.requests)
    assert all(detok < later for detok, later in zip(plain.detok_ns, plain.sample_ns[1:], strict=False))
    assert held.detok_ns[0] > held.sample_ns[2]
    assert held.sample_ns == sorted(held.sample_ns)
    assert run.requests[0].token_ids_sha256 == run.requests[1].token_ids_sha256
    assert "".join(run.requests[0].token_texts) == "".join(run.requests[1].token_texts)

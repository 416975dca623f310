"""Guesses through the real server in int8: several tokens a step on their way to the client, and in the trace."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from itertools import pairwise

import msgspec
import openai
import pytest

from demo_engine.client.endpoint import Endpoint
from demo_engine.client.records import Call, RunPlan
from demo_engine.client.run import run as run_calls
from demo_engine.recorder.join import join_run
from demo_engine.recorder.span_types import span_types
from engine_server import chat_body, start_server, stop_server
from trace_factory import make_experiment
from traces import request_path
from traces.check import check_experiment

pytestmark = [pytest.mark.slow, pytest.mark.engine]

COPY = "Repeat this list word for word: apples, pears, plums, figs, grapes, lemons, melons, cherries, peaches, dates."
BODY = {"messages": [{"role": "user", "content": COPY}], "max_tokens": 40}
INT8 = ("--quantization=int8", "--num-kv-blocks=128")


@pytest.fixture(scope="module")
def guessing():
    """A server that guesses."""
    server = start_server(*INT8, "--num-speculative-tokens=4")
    yield server
    stop_server(server)


@pytest.fixture(scope="module")
def plain():
    """One that does not."""
    server = start_server(*INT8)
    yield server
    stop_server(server)


def ask(server, **fields):
    """Return the reply to a request for a copy."""
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key=server.token, max_retries=0) as client:
        return client.chat.completions.create(**chat_body(server, **BODY, **fields))


def chunks_of(server):
    """Yield the chunks of a streamed copy; closing the generator hangs up."""
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key=server.token, max_retries=0) as client:
        yield from client.chat.completions.create(**chat_body(server, **BODY, stream=True))


def trace_of(server, reply_id: str) -> dict:
    """Return what the server knows of a finished request."""
    return json.loads(server.get(f"/v1/traces/{reply_id}"))


@pytest.mark.parametrize(
    "fields",
    [{}, {"temperature": 0.7, "seed": 5}, {"frequency_penalty": 0.3}, {"logprobs": True, "top_logprobs": 2},
     {"stop": ["plums, figs"]}, {"stop": ["grapes"], "logprobs": True}],
    ids=["greedy", "drawn", "penalised", "logprobs", "stop", "stop and logprobs"],
)  # fmt: skip
def test_a_reply_is_the_same_with_and_without_guesses(guessing, plain, fields):
    """Text, finish reason, usage, and every logarithm."""
    replies = [ask(server, **fields) for server in (guessing, plain)]
    ours, theirs = (reply.choices[0] for reply in replies)
    assert (ours.message.content, ours.finish_reason) == (theirs.message.content, theirs.finish_reason)
    assert ours.logprobs == theirs.logprobs
    assert replies[0].usage == replies[1].usage
    guessing.wait_until_idle()


def test_the_tokens_of_a_step_are_streamed_one_by_one(guessing, plain):
    """A chunk a token, as without guesses; the record says how many steps there were, and a decode stands once each."""
    chunks = list(chunks_of(guessing))
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == ask(plain).choices[0].message.content
    trace = trace_of(guessing, chunks[0].id)
    steps = trace["tokens"]["step"]
    assert len(steps) == len(trace["tokens"]["text"])
    assert steps == sorted(steps)
    assert len(set(steps)) < len(steps) / 2
    assert max(Counter(steps).values()) == 5
    assert trace["tokens"]["write_ns"] == sorted(trace["tokens"]["write_ns"])


def test_a_trace_of_guesses_is_whole(guessing, tmp_path):
    """It passes every check, its paths touch, and drafted and accepted tokens stand in its steps."""
    plan = RunPlan([Call("r7", COPY, 40, at_ms=0), Call("r8", "Write a story.", 20, at_ms=300)])
    run = join_run(plan, asyncio.run(run_calls(Endpoint(guessing.url, guessing.token, guessing.model), plan)))
    experiment = msgspec.structs.replace(make_experiment(run), span_types=span_types(run.clock.bracket_ns))
    check_experiment(experiment, tmp_path)
    for request in run.requests:
        path = request_path(experiment, run, request)
        assert all(span.end_ns == later.start_ns for span, later in pairwise(path))
        assert len([span for span in path if span.name == "decode"]) == len(set(request.tokens.step)) - 1
    num_beyond_one = sum(len(request.tokens.step) - len(set(request.tokens.step)) for request in run.requests)
    assert sum(run.steps.accepted_tokens) == num_beyond_one > 0
    assert sum(run.steps.draft_tokens) >= num_beyond_one


def test_without_guesses_the_trace_has_no_such_columns(plain, tmp_path):
    """As in every trace that was recorded before there were any."""
    plan = RunPlan([Call("r1", COPY, 3, at_ms=0)])
    run = join_run(plan, asyncio.run(run_calls(Endpoint(plain.url, plain.token, plain.model), plan)))
    assert run.steps.draft_tokens == run.steps.accepted_tokens == []


def test_a_schema_is_followed_through_bursts(guessing, plain):
    """The grammar moves on token by token inside a burst, and the reply is the one without guesses."""
    pytest.importorskip("llguidance")
    schema = {"type": "array", "items": {"enum": ["apples", "pears", "plums"]}, "minItems": 5, "maxItems": 5}
    form = {"type": "json_schema", "json_schema": {"name": "reply", "schema": schema, "strict": True}}
    ours, theirs = (ask(server, response_format=form) for server in (guessing, plain))
    assert ours.choices[0].message.content == theirs.choices[0].message.content
    assert len(json.loads(ours.choices[0].message.content)) == 5
    steps = trace_of(guessing, ours.id)["tokens"]["step"]
    assert len(set(steps)) < len(steps)


def test_a_client_that_leaves_during_bursts_leaves_no_block_behind(guessing):
    """Cancelled in its midst, the request gives back what its guesses took as well."""
    chunks = chunks_of(guessing)
    next(chunks)
    chunks.close()
    guessing.wait_until_idle()

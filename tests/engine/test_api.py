"""The API as real clients use it: curl and the openai package, streamed and not, right and wrong."""

from __future__ import annotations

import itertools
import json
import subprocess
import time

import msgspec
import openai
import pytest

from engine_server import chat_body, open_stream

pytestmark = [pytest.mark.slow, pytest.mark.engine]


@pytest.fixture
def client(server):
    """The openai package, pointed at the suite's server, without retries."""
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key=server.token, max_retries=0) as client:
        yield client


def curl(server, path: str, body: dict | bytes | None = None, *options: str) -> tuple[int, str]:
    """Run curl and return status and body."""
    data = body if isinstance(body, bytes) or body is None else msgspec.json.encode(body)
    command = ["curl", "-sS", "-N", "-w", "\n%{http_code}", *options]
    for name, value in server.headers.items():
        command += ["-H", f"{name}: {value}"]
    command += ["--data-binary", "@-"] if data is not None else []
    done = subprocess.run([*command, server.url + path], input=data, capture_output=True, check=True)
    text, _, status = done.stdout.decode().rpartition("\n")
    return int(status), text


def events(text: str) -> list:
    """Return a stream's data events."""
    data = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")]
    return [item if item == "[DONE]" else json.loads(item) for item in data]


def test_openai_gets_the_same_answer_streamed_and_whole(client, server):
    """Greedy text, token counts and finish reason agree between the two forms."""
    whole = client.chat.completions.create(**chat_body(server))
    chunks = list(
        client.chat.completions.create(**chat_body(server, stream=True, stream_options={"include_usage": True}))
    )
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert whole.choices[0].message.content == text == "The capital of France is Paris."
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "stop"
    assert whole.choices[0].finish_reason == "stop"
    assert chunks[-1].usage == whole.usage
    assert whole.usage.completion_tokens == 8  # the stop token counts, its text does not show
    assert len({chunk.id for chunk in chunks}) == 1
    assert chunks[0].choices[0].delta.role == "assistant"


def test_openai_plain_completion_takes_text_and_token_ids(client, server):
    """``/v1/completions`` continues a text; the same ids give the same text; the default length is 16."""
    text = client.completions.create(model=server.model, prompt="One, two, three,", temperature=0)
    assert text.choices[0].finish_reason == "length"
    assert text.usage.completion_tokens == 16
    trace = json.loads(server.get(f"/v1/traces/{text.id}"))
    again = client.completions.create(model=server.model, prompt=[42] * 5, max_tokens=3, temperature=0)
    assert again.usage.prompt_tokens == 5
    assert trace["finish_reason"] == "length"
    stream = client.completions.create(model=server.model, prompt=["One, two, three,"], temperature=0, stream=True)
    assert "".join(chunk.choices[0].text for chunk in stream) == text.choices[0].text


def test_openai_lists_the_model(client, server):
    """The model is found in the list and by its name; another name is not found."""
    assert [model.id for model in client.models.list()] == [server.model]
    assert client.models.retrieve(server.model).id == server.model
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve("gpt-5")


def test_openai_raises_its_own_errors(client, server):
    """Each refusal arrives as the exception that the package defines for it, with its code."""
    cases = [
        (openai.NotFoundError, "model_not_found", {"model": "nope"}),
        (openai.BadRequestError, "unsupported_value", {"n": 2}),
        (openai.BadRequestError, "context_length_exceeded", {"messages": [{"role": "user", "content": "a b " * 9000}]}),
        (openai.BadRequestError, "invalid_value", {"max_tokens": 100_000}),
    ]
    for error, code, fields in cases:
        with pytest.raises(error) as raised:
            client.chat.completions.create(**chat_body(server, **fields))
        assert raised.value.code == code
        assert raised.value.body["message"]
    with (
        pytest.raises(openai.AuthenticationError),
        openai.OpenAI(base_url=f"{server.url}/v1", api_key="wrong", max_retries=0) as stranger,
    ):
        stranger.models.list()


def test_curl_streams_one_terminal_event_and_done(server):
    """A stream opens with the role, ends with exactly one finish reason, then ``[DONE]``, and nothing after it."""
    status, text = curl(server, "/v1/chat/completions", chat_body(server, stream=True, max_tokens=4))
    got = events(text)
    assert status == 200
    assert got[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    reasons = [event["choices"][0]["finish_reason"] for event in got[:-1]]
    assert [reason for reason in reasons if reason] == ["length"]
    assert reasons[-1] == "length"
    assert got[-1] == "[DONE]"
    assert text.endswith("data: [DONE]\n\n")


def test_live_spans_travel_as_comments_in_order(server):
    """With the header, each stage is told once as it ends, then a decode and a token for each further token."""
    options = ("-H", "X-Spanreel-Spans: live")
    status, text = curl(server, "/v1/chat/completions", chat_body(server, stream=True, max_tokens=4), *options)
    spans = [json.loads(line.removeprefix(": span ")) for line in text.splitlines() if line.startswith(": span ")]
    assert status == 200
    assert [span["name"] for span in spans] == [
        "receive", "template", "encode", "route", "submit", "queue", "prefill", "token",
        *["decode", "token"] * 3,
    ]  # fmt: skip
    assert spans[0]["start_ns"] == 0
    stages = spans[:6]
    for earlier, later in itertools.pairwise(stages):
        assert earlier["start_ns"] + earlier["duration_ns"] == later["start_ns"]
    assert all(set(span) - {"attributes"} == {"name", "component", "start_ns", "duration_ns"} for span in spans)
    assert {"policy", "replica", "reason"} < set(next(span["attributes"] for span in spans if span["name"] == "route"))


def test_without_the_header_there_is_no_comment(server):
    """Spans are told only to those who ask."""
    _, text = curl(server, "/v1/chat/completions", chat_body(server, stream=True, max_tokens=2))
    assert not any(line.startswith(":") for line in text.splitlines())


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400), (b"{", 400), (b"[]", 400), (b'"x"', 400), (b"[" * 50_000, 400), (b"\xff" * 10, 400),
        (b'{"model":"m"}', 400), (b'{"model":"SmolLM2-135M-Instruct","messages":[{"role":"user"}]}', 400),
        (b'{"model":"SmolLM2-135M-Instruct","messages":[{"role":"user","content":"\\ud800"}]}', 400),
        (b" " * 1_000_001, 413),
    ],
)  # fmt: skip
def test_bad_bodies_are_refused_with_the_error_object(server, body, status):
    """No body, however broken, is a server error, and the refusal says what is wrong."""
    got, text = curl(server, "/v1/chat/completions", body)
    assert got == status
    assert json.loads(text)["error"]["message"]


def test_other_content_types_and_methods_are_refused(server):
    """A form or text body, a compressed body and a wrong method never reach the engine."""
    plain = ("-H", "Content-Type: text/plain")
    assert curl(server, "/v1/chat/completions", b"{}", *plain)[0] in (400, 415)
    assert curl(server, "/v1/chat/completions", b"{}", "-H", "Content-Encoding: gzip")[0] in (400, 415)
    assert curl(server, "/v1/chat/completions")[0] == 405
    assert curl(server, "/v1/models", b"{}")[0] == 405
    assert curl(server, "/nowhere")[0] == 404


def test_an_empty_prompt_is_refused(server):
    """A prompt without a token is 400 and does not disturb the engine."""
    assert curl(server, "/v1/completions", {"model": server.model, "prompt": ""})[0] == 400
    assert curl(server, "/v1/completions", {"model": server.model, "prompt": []})[0] == 400
    assert curl(server, "/v1/completions", {"model": server.model, "prompt": [10**9]})[0] == 400


def test_a_seed_repeats_an_answer_and_temperature_matters(client, server):
    """The same seed gives the same text; different seeds do not all give the same."""

    def answer(seed):
        body = chat_body(server, temperature=1.5, seed=seed, ignore_eos=True)
        reply = client.chat.completions.create(**{k: v for k, v in body.items() if k != "ignore_eos"},
                                               extra_body={"ignore_eos": True})  # fmt: skip
        return reply.choices[0].message.content

    answers = [answer(seed) for seed in (1, 1, 2, 3)]
    assert answers[0] == answers[1]
    assert len(set(answers)) > 1


def test_a_full_queue_is_refused_at_once_with_a_time_to_come_back(server):
    """Beyond the limit of open requests the answer is 429 with Retry-After, and those admitted still finish."""
    body = chat_body(server, max_tokens=200, stream=True)
    sockets = [open_stream(server, body) for _ in range(40)]
    try:
        status, text = curl(server, "/v1/chat/completions", chat_body(server), "-i")
        assert status == 429
        assert "retry-after: 1" in text.lower()
    finally:
        for connection in sockets:
            connection.close()


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("wait_s", [0.0, 0.05, 0.4, 1.2])
def test_a_client_that_leaves_frees_everything(server, stream, wait_s):
    """Whether queued, in prefill or in decode, streamed or not: after a disconnect all blocks are free again."""
    messages = [{"role": "user", "content": "Tell me about the sea. " * 60}]
    connection = open_stream(
        server, chat_body(server, messages=messages, max_tokens=400, ignore_eos=True, stream=stream)
    )
    time.sleep(wait_s)
    connection.close()
    server.wait_until_idle(10)
    assert 'finish_reason="cancelled"' in server.get("/metrics")


def test_requests_that_wait_in_the_queue_can_leave_it(server):
    """Twelve requests where eight run at once: all leave, none stays behind."""
    body = chat_body(server, max_tokens=400, ignore_eos=True, stream=True)
    connections = [open_stream(server, body) for _ in range(12)]
    time.sleep(0.3)
    for connection in reversed(connections):
        connection.close()
    server.wait_until_idle(10)


def test_a_trace_covers_the_request_without_a_gap(client, server):
    """The spans of a finished request touch from the headers to the last chunk, and every token names its step."""
    reply = client.chat.completions.create(**chat_body(server))
    trace = json.loads(server.get(f"/v1/traces/{reply.id}"))
    spans = trace["spans"]
    assert [span["name"] for span in spans] == [
        "receive", "template", "encode", "route", "submit", "engine", "deliver", "detokenize", "write",
    ]  # fmt: skip
    for earlier, later in itertools.pairwise(spans):
        assert earlier["start_ns"] + earlier["duration_ns"] == later["start_ns"]
    steps, tokens = trace["steps"], trace["tokens"]
    assert len(tokens["id"]) == reply.usage.completion_tokens
    for step in tokens["step"]:
        assert reply.id in steps["request_ids"][step - steps["first"]]
    assert "".join(tokens["text"]) == reply.choices[0].message.content


def test_an_unknown_trace_is_not_found(server):
    """A request id that nobody had is 404 with the error object."""
    status, text = curl(server, "/v1/traces/chatcmpl-none")
    assert status == 404
    assert json.loads(text)["error"]["code"] == "trace_not_found"

"""Shapes: what openai's package, curl and other clients expect to read."""

from __future__ import annotations

import json
import subprocess
from contextlib import ExitStack

import openai
import pytest

from conformance.target import ANSWER, Target, case


def choices(events: list[dict]) -> list[dict]:
    """Return the one choice of each chunk that has one."""
    return [event["choices"][0] for event in events if event["choices"]]


@case("shapes", "sglang 3805, vllm PR 42961")
def broken_bodies_are_the_clients_mistake(target: Target) -> None:
    """What is no JSON object is 400 with the error object, however it is broken."""
    for body in (b"", b"{", b"[]", b"null", b"1", b'"x"', b"\xff\xfe", b"[" * 50_000, b'{"model":NaN}', b'{"a":1}'):
        for path in ("/v1/chat/completions", "/v1/completions", "/tokenize"):
            reply = target.post(path, body)
            assert reply.status == 400, (path, body[:20])
            assert reply.error["type"] == "invalid_request_error"


@case("shapes", "TGI PR 3003, llama.cpp 15443, ATOM PR 1711, apfel 100")
def the_usage_chunk_comes_only_when_asked_and_has_no_choices(target: Target) -> None:
    """With it, the other chunks carry a null; without it, none has the field."""
    events = target.chat_reply(stream=True, stream_options={"include_usage": True}).events
    assert events[-1]["choices"] == []
    assert events[-1]["usage"]["completion_tokens"] == 8
    assert all(event["usage"] is None for event in events[:-1])
    assert not any("usage" in event for event in target.chat_reply(stream=True).events)


@case("shapes", "sglang PR 8417, dstack 2228")
def there_is_one_finish_reason_and_it_comes_last(target: Target) -> None:
    """All chunks before it carry null, never an empty text."""
    for fields in ({}, {"max_tokens": 3}, {"stop": "of"}):
        reasons = [choice["finish_reason"] for choice in choices(target.chat_reply(stream=True, **fields).events)]
        assert reasons[-1] in ("stop", "length")
        assert set(reasons[:-1]) == {None}


@case("shapes", "llama.cpp PR 20226, vllm PR 52399, PR 16863")
def one_choice_with_index_zero(target: Target) -> None:
    """More than one is refused, and the one there is has its index everywhere."""
    assert {choice["index"] for choice in choices(target.chat_reply(stream=True).events)} == {0}
    for number in (0, 2, -1, 10**9, "1"):
        reply = target.chat_reply(n=number)
        assert (reply.status, reply.error["param"]) == (400, "n")


@case("shapes", "TensorRT-Edge-LLM 93")
def every_object_names_its_kind(target: Target) -> None:
    """Whole and streamed, chat and plain."""
    assert target.chat(max_tokens=1).raw["object"] == "chat.completion"
    assert target.complete("a", max_tokens=1).raw["object"] == "text_completion"
    assert {e["object"] for e in target.chat_reply(stream=True, max_tokens=1).events} == {"chat.completion.chunk"}
    events = target.completion_reply("a", stream=True, max_tokens=1).events
    assert {event["object"] for event in events} == {"text_completion"}


@case("shapes", "bifrost 6523, langwatch 6196, open-webui 23922")
def the_first_chunk_names_the_role_and_all_share_one_id(target: Target) -> None:
    """One id and one time of creation throughout."""
    events = target.chat_reply(stream=True).events
    assert events[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert len({(event["id"], event["created"], event["model"]) for event in events}) == 1
    assert events[0]["id"].startswith("chatcmpl-")


@case("shapes", "LightLLM PR 1262")
def a_stream_ends_with_done(target: Target) -> None:
    """Nothing follows it, and the connection is not left hanging."""
    for fields in ({}, {"max_tokens": 1}, {"stop": "of"}, {"stream_options": {"include_usage": True}}):
        assert target.chat_reply(stream=True, **fields).text.endswith("}\n\ndata: [DONE]\n\n")


@case("shapes", "llama.cpp PR 20872, koboldcpp PR 1168")
def a_stream_asks_not_to_be_buffered(target: Target) -> None:
    """Its headers keep proxies from holding it back, and name its request."""
    headers = target.chat_reply(stream=True, max_tokens=1).headers
    assert headers["x-accel-buffering"] == "no"
    assert headers["cache-control"] == "no-cache"
    assert headers["content-type"].startswith("text/event-stream")
    assert headers["x-request-id"].startswith("chatcmpl-")


@case("shapes", "openai-openapi 539")
def the_first_event_of_a_plain_stream_is_text(target: Target) -> None:
    """There is no role to name, so the first chunk has content, as measuring clients expect."""
    assert choices(target.completion_reply("One, two,", stream=True).events)[0]["text"]


@case("shapes", "openai-python: unsupported values")
def what_is_not_supported_is_refused_not_ignored(target: Target) -> None:
    """Fields that would change the answer are 400 with their name."""
    for field, value in (
        ("tools", [{"type": "function"}]), ("logit_bias", {"5": 9}), ("functions", [{}]),
        ("best_of", 3), ("suffix", "x"), ("echo", True), ("top_p", 0), ("temperature", 3), ("seed", 2**64),
    ):  # fmt: skip
        reply = target.chat_reply(**{field: value})
        assert (reply.status, reply.error["param"]) == (400, field)


@case("shapes", "openai-python: unknown fields")
def fields_without_an_effect_are_ignored(target: Target) -> None:
    """Clients send much that a server need not know."""
    fields = {"user": "u", "metadata": {"a": "b"}, "store": False, "service_tier": "auto", "x": None, "n": 1}
    assert target.chat(**fields).text == ANSWER


@case("shapes", "openai-python: errors")
def openai_raises_the_exception_of_each_refusal(target: Target) -> None:
    """The package finds status, code and message where it looks for them."""
    with openai.OpenAI(base_url=f"http://{target.host}/v1", api_key=target.token, max_retries=0) as client:
        for kind, code, fields in (
            (openai.NotFoundError, "model_not_found", {"model": "gpt-5"}),
            (openai.BadRequestError, "unsupported_value", {"n": 2}),
        ):
            with pytest.raises(kind) as raised:
                client.chat.completions.create(**target.chat_body(**fields))
            assert raised.value.code == code


@case("shapes", "openai-python: streaming")
def openai_reads_stream_and_whole_alike(target: Target) -> None:
    """The same answer and the same usage through the package."""
    with openai.OpenAI(base_url=f"http://{target.host}/v1", api_key=target.token, max_retries=0) as client:
        whole = client.chat.completions.create(**target.chat_body())
        body = target.chat_body(stream=True, stream_options={"include_usage": True})
        chunks = list(client.chat.completions.create(**body))
        text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
        assert whole.choices[0].message.content == text == ANSWER
        assert chunks[-1].usage.completion_tokens == whole.usage.completion_tokens


@case("shapes", "openai-python: models")
def the_model_is_listed_and_found(target: Target) -> None:
    """By list and by name; another name is 404, as is another path; another method is 405."""
    assert [model["id"] for model in target.send("GET", "/v1/models").json["data"]] == [target.model]
    assert target.send("GET", f"/v1/models/{target.model}").json["object"] == "model"
    for method, path, status in (
        ("GET", "/v1/models/gpt-5", 404), ("GET", "/v2", 404),
        ("GET", "/v1/completions", 405), ("DELETE", "/v1/models", 405),
    ):  # fmt: skip
        reply = target.send(method, path)
        assert reply.status == status
        assert reply.error["message"]


@case("shapes", "curl: expect, chunked bodies")
def curl_may_wait_for_a_hundred_and_send_in_chunks(target: Target) -> None:
    """``Expect: 100-continue`` and a body without a length are read like any other."""
    for header in ("Expect: 100-continue", "Transfer-Encoding: chunked"):
        command = ["curl", "-sS", "-N", "--max-time", "60", "-H", header, "--data-binary", "@-"]
        for name, value in target.headers.items():
            command += ["-H", f"{name}: {value}"]
        data = json.dumps(target.chat_body()).encode()
        done = subprocess.run([*command, f"http://{target.host}/v1/chat/completions"], input=data, capture_output=True)
        assert json.loads(done.stdout)["choices"][0]["message"]["content"] == ANSWER


@case("shapes", "CVE-2025-48956, CVE-2026-34756")
def a_body_without_end_is_cut_off(target: Target) -> None:
    """A chunked body beyond a megabyte is 413, compressed ones and other types are 415."""
    assert target.send("POST", "/v1/completions", b" " * 1_000_001, {"Content-Type": "application/json"}).status == 413
    assert target.post("/v1/completions", b"{}", **{"Content-Type": "text/plain"}).status == 415
    assert target.post("/v1/completions", b"{}", **{"Content-Encoding": "gzip"}).status in (400, 415)


@case("shapes", "vllm PR 49445, 58192, 14333")
def a_full_queue_is_refused_with_a_time_to_come_back(target: Target) -> None:
    """Beyond the limit it is 429 with Retry-After, before the body is even looked at, and soon served again."""
    body = target.chat_body(max_tokens=60, ignore_eos=True, stream=True)
    with ExitStack() as held:
        for _ in range(12):
            held.enter_context(target.opened(body))
        target.wait_until(lambda: target.metric("spanreel_running") + target.metric("spanreel_waiting") == 12)
        reply = target.post("/v1/chat/completions", b"not even JSON")
        assert (reply.status, reply.error["code"]) == (429, "queue_full")
        assert int(reply.headers["retry-after"]) >= 1
    target.wait_until_idle()
    assert target.chat().text == ANSWER

"""Keys: limits that clients of OpenAI's API understand, and what a key may not see."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import openai
import pytest

from conformance.target import ANSWER, Target, case

SLOW_KEY, SMALL_KEY = "a-key-with-few-requests", "a-key-with-few-tokens"
SLOW_PER_MINUTE, SMALL_PER_MINUTE, BURST_S = 10, 600, 6
"""So that one request comes through, or 60 tokens, and the next one after some seconds."""


def write_keys(file: Path) -> Path:
    """Write the keys that the cases use; return the file."""
    slow = {"name": "slow", "key": SLOW_KEY, "requests_per_minute": SLOW_PER_MINUTE}
    small = {"name": "small", "key": SMALL_KEY, "tokens_per_minute": SMALL_PER_MINUTE}
    file.touch(mode=0o600)
    file.write_text(json.dumps([slow, small]))
    return file


@case("keys", "openai-python: RateLimitError")
def a_used_up_key_is_told_when_to_come_again(target: Target) -> None:
    """Its own error class, code and time; the next key is served."""
    slow = replace(target, token=SLOW_KEY)
    replies = [slow.chat_reply(max_tokens=1) for _ in range(2)]
    assert replies[1].status == 429
    assert replies[1].error["code"] == "rate_limit_exceeded"
    assert 1 <= int(replies[1].headers["retry-after"]) <= 60 // SLOW_PER_MINUTE + 1
    with (
        openai.OpenAI(base_url=f"http://{target.host}/v1", api_key=SLOW_KEY, max_retries=0) as client,
        pytest.raises(openai.RateLimitError) as raised,
    ):
        client.chat.completions.create(**target.chat_body())
    assert raised.value.code == "rate_limit_exceeded"
    assert target.chat().text == ANSWER


@case("keys", "openai-python: max_retries")
def openai_waits_as_long_as_it_is_told(target: Target) -> None:
    """With retries the package keeps to the header, so that what comes too early comes through in the end."""
    with openai.OpenAI(base_url=f"http://{target.host}/v1", api_key=SLOW_KEY, max_retries=3) as client:
        for _ in range(2):
            reply = client.chat.completions.create(**target.chat_body())
            assert reply.choices[0].message.content == ANSWER


@case("keys", "vllm 58192")
def tokens_are_counted_before_any_work_is_done(target: Target) -> None:
    """What a key may never use is refused for good, what it may use later with a time, and no step is made for it."""
    small = replace(target, token=SMALL_KEY)
    steps = target.metric("spanreel_num_steps")
    reply = small.chat_reply(max_tokens=200)
    assert reply.status == 400
    assert reply.error["code"] == "rate_limit_exceeded"
    assert "retry-after" not in reply.headers
    assert target.metric("spanreel_num_steps") == steps


@case("keys", "vllm 10531, 58144")
def a_key_sees_nothing_of_others(target: Target) -> None:
    """Neither traces nor metrics, by whatever path they are asked for; what is asked without a key, nobody sees."""
    small = replace(target, token=SMALL_KEY)
    request_id = target.chat(max_tokens=1).raw["id"]
    assert target.send("GET", f"/v1/traces/{request_id}").status == 200
    for path in ("/metrics", f"/v1/traces/{request_id}"):
        assert small.send("GET", path).status == 403
        assert replace(target, token="").send("GET", path).status == 401
    for path in ("//metrics", "/metrics/", "/v1/../metrics", "/v1/models/../../metrics", "/METRICS"):
        assert small.send("GET", path).status in (400, 403, 404)
    assert small.send("GET", "/v1/models").status == 200

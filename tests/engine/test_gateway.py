"""Keys and limits: the bucket's promise, the keys file, and what a server with limits answers over real HTTP."""

from __future__ import annotations

import itertools
import json
import stat
import subprocess
import sys
import urllib.error
import urllib.request
from dataclasses import replace
from unittest import mock

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from demo_engine.api.errors import ApiError
from demo_engine.api.gateway import allowance
from demo_engine.api.gateway.allowance import Allowance, Limits, Spending
from demo_engine.api.gateway.bucket import NS_PER_MINUTE, TokenBucket
from demo_engine.api.gateway.estimate import estimated_prompt_tokens
from demo_engine.api.gateway.keys import KeyRing, load_keys
from demo_engine.api.validation import ChatMessage, ChatRequest, CompletionRequest
from demo_engine.errors import UsageError
from demo_engine.recorder.server_trace import ServerTrace, StageClock
from engine_server import TOKEN, chat_body, start_server, stop_server
from toy_server import write_toy_folder

ALICE, BOB = "alice-key-0123456789", "bob-key-0123456789ab"
RATES = st.integers(1, 10_000)
WISHES = st.lists(st.tuples(st.integers(0, 3 * NS_PER_MINUTE), st.integers(1, 60)), min_size=1, max_size=40)


@given(rate=RATES, burst=st.integers(1, 60), wishes=WISHES)
def test_no_stretch_of_time_yields_more_than_the_rate_and_the_brim(rate, burst, wishes):
    """For any wishes and any two instants: what was taken between them is at most rate × time + burst."""
    bucket, now_ns, taken = TokenBucket(rate, burst, 0), 0, []
    for gap_ns, amount in wishes:
        now_ns += gap_ns
        if amount <= burst and bucket.take(amount, now_ns) == 0:
            taken.append((now_ns, amount))
    for first, (start_ns, _) in enumerate(taken):
        total = 0
        for end_ns, amount in taken[first:]:
            total += amount
            assert total * NS_PER_MINUTE <= rate * (end_ns - start_ns) + burst * NS_PER_MINUTE


@given(rate=RATES, burst=st.integers(1, 60), wishes=WISHES)
def test_whoever_waits_as_long_as_told_is_served_and_not_a_nanosecond_earlier(rate, burst, wishes):
    """The wait that a refusal names is exact."""
    bucket, now_ns = TokenBucket(rate, burst, 0), 0
    for gap_ns, amount in wishes:
        now_ns += gap_ns
        if amount <= burst and (wait_ns := bucket.take(amount, now_ns)):
            assert bucket.take(amount, now_ns + wait_ns - 1) == 1
            assert bucket.take(amount, now_ns + wait_ns) == 0
            now_ns += wait_ns


@given(rate=RATES, estimate=st.integers(1, 60), used=st.integers(0, 200))
def test_what_was_not_used_comes_back_and_what_was_used_beyond_it_is_owed(rate, estimate, used):
    """After settling, the bucket holds what it would if the use had been known; never more than its brim."""
    bucket = TokenBucket(rate, 60, 0)
    assert bucket.take(estimate, 0) == 0
    bucket.give_back(estimate - used, 0)
    assert bucket.available(0) == 60 - used
    bucket.give_back(1000, 0)
    assert bucket.available(0) == 60


def test_more_than_the_brim_is_no_question_of_waiting():
    """The bucket says so instead of naming a time."""
    with pytest.raises(ValueError, match="more than the bucket holds"):
        TokenBucket(60, 5, 0).take(6, 0)


def test_a_clock_that_goes_back_fills_nothing():
    """Time that is seen twice counts once."""
    bucket = TokenBucket(60, 1, 0)
    assert bucket.take(1, 0) == 0
    assert bucket.available(NS_PER_MINUTE // 60) == 1
    assert bucket.take(1, 0) == 0
    assert bucket.available(NS_PER_MINUTE // 60) == 0


def test_a_request_that_is_refused_for_its_tokens_does_not_count_as_one():
    """Otherwise it could not come again when it was told to."""
    allowance = Allowance(Limits(requests_per_minute=1, tokens_per_minute=60, burst_s=60))
    greedy = Spending("k", allowance)
    greedy.take_request()
    greedy.reserve_tokens(60, StageClock())
    allowance.requests.give_back(1, 0)
    refused = Spending("k", allowance)
    refused.take_request()
    with pytest.raises(ApiError) as error:
        refused.reserve_tokens(30, StageClock())
    assert (error.value.status, error.value.retry_s) == (429, 30)
    refused.settle()
    Spending("k", allowance).take_request()


@given(
    limits=st.builds(Limits, st.integers(1, 500), st.integers(1, 5000), st.integers(1, 120)),
    estimates=st.lists(st.integers(1, 100), min_size=1, max_size=30), uses=st.lists(st.integers(0, 150), min_size=1),
)  # fmt: skip
def test_a_request_that_comes_again_after_retry_after_is_admitted(limits, estimates, uses):
    """Whatever was asked and used before: one wait is enough for the limit that it was named for."""
    with mock.patch.object(allowance.time, "monotonic_ns", return_value=0) as clock:
        key = Allowance(limits)

        def refused_for_s(estimate: int, used: int) -> int | None:
            spending = Spending("k", key)
            try:
                spending.take_request()
                spending.reserve_tokens(estimate, StageClock())
            except ApiError as error:
                return error.retry_s or -1
            spending.used_tokens = used
            spending.settle()
            return None

        for estimate, used in zip(estimates, itertools.cycle(uses), strict=False):
            limits_met = []
            while (wait_s := refused_for_s(estimate, used)) is not None and wait_s > 0:
                clock.return_value += wait_s * 10**9
                limits_met.append(wait_s)
            assert len(limits_met) <= 2  # first that of requests, which stands before the body, then that of tokens
            may_never = estimate > max(1, limits.tokens_per_minute * limits.burst_s // 60)
            assert (wait_s == -1) == may_never


def test_without_limits_nothing_is_kept_and_no_stage_is_marked():
    """The path of a request is as it was."""
    stages = StageClock()
    spending = Spending("k", Allowance(Limits()))
    spending.take_request()
    spending.reserve_tokens(10**9, stages)
    spending.settle()
    assert stages.spans == []


def test_a_prompt_is_estimated_by_its_bytes_and_token_ids_are_counted():
    """Four bytes are taken for a token, rounded up."""
    chat = ChatRequest(model="m", messages=[ChatMessage("user", "äbcd"), ChatMessage("user", "efg")])
    assert estimated_prompt_tokens(chat) == 2
    assert estimated_prompt_tokens(CompletionRequest(model="m", prompt="")) == 0
    assert estimated_prompt_tokens(CompletionRequest(model="m", prompt=[5, 6, 7])) == 3


def keys_file(folder, entries, mode: int = 0o600):
    """Write a keys file and return its path."""
    path = folder / "keys.json"
    path.write_text(json.dumps(entries))
    path.chmod(mode)
    return path


def test_a_key_has_its_own_limits_or_the_servers(tmp_path):
    """What an entry leaves out is the server's, and the run's token stays the master whatever the file says."""
    entries = [{"name": "alice", "key": ALICE, "requests_per_minute": 7}, {"name": "eve", "key": "t" * 20}]
    ring = KeyRing("t" * 20, load_keys(keys_file(tmp_path, entries)), Limits(60, 600, 60))
    alice = ring.caller(f"Bearer {ALICE}")
    assert (alice.name, alice.is_master) == ("alice", False)
    assert (alice.allowance.requests.rate_per_minute, alice.allowance.tokens.rate_per_minute) == (7, 600)
    assert ring.caller(f"Bearer {'t' * 20}").is_master
    for header in ("", "Bearer", f"bearer {ALICE}", f"Basic {ALICE}", f"Bearer {ALICE} ", f"Bearer  {ALICE}"):
        assert ring.caller(header) is None, header


@pytest.mark.parametrize(
    ("entries", "fault"),
    [
        ({}, "Expected `array`"),
        ([{"name": "a", "key": "short"}], "length >= 16"),
        ([{"name": "A b", "key": ALICE}], "matching regex"),
        ([{"name": "a", "key": ALICE, "limit": 1}], "unknown field"),
        ([{"name": "a", "key": ALICE, "tokens_per_minute": -1}], ">= 0"),
        ([{"name": "a", "key": ALICE}, {"name": "a", "key": BOB}], "a name of its own"),
        ([{"name": "master", "key": ALICE}], "a name of its own"),
        ([{"name": "a", "key": ALICE}, {"name": "b", "key": ALICE}], "the same key"),
    ],
)
def test_a_keys_file_with_a_fault_is_refused_with_its_reason(tmp_path, entries, fault):
    """The reason names no key."""
    with pytest.raises(UsageError, match=fault) as error:
        load_keys(keys_file(tmp_path, entries))
    assert ALICE not in str(error.value)


def test_a_keys_file_that_others_can_read_is_refused(tmp_path):
    """The message says what to do."""
    path = keys_file(tmp_path, [], 0o644)
    with pytest.raises(UsageError, match="chmod 600"):
        load_keys(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


def test_serve_without_its_keys_file_is_a_usage_error(tmp_path):
    """One line and exit code 2."""
    command = [sys.executable, "-m", "demo_engine", "serve", "--keys", str(tmp_path / "none.json")]
    done = subprocess.run(
        [*command, "--model", str(write_toy_folder(tmp_path))], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.splitlines() == [f"error: keys file {tmp_path / 'none.json'}: No such file or directory"]


@pytest.fixture(scope="module")
def limited(tmp_path_factory):
    """A server on which Alice may ask twice a minute, Bob may use 300 tokens a minute, and the master has no limit."""
    folder = tmp_path_factory.mktemp("limited")
    entries = [
        {"name": "alice", "key": ALICE, "requests_per_minute": 2},
        {"name": "bob", "key": BOB, "tokens_per_minute": 300},
    ]
    keys = keys_file(folder, entries)
    (folder / "toy").mkdir()
    toy = write_toy_folder(folder / "toy")
    server = replace(start_server("--model", str(toy), "--keys", str(keys)), model=toy.name)
    yield server
    server.wait_until_idle()
    assert stop_server(server) == 0


def ask(server, key: str, path: str = "/v1/chat/completions", **fields):
    """Send a request with a key; return status, headers and body."""
    data = msgspec.json.encode(chat_body(server, ignore_eos=True, **fields)) if "completions" in path else None
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    request = urllib.request.Request(server.url + path, data=data, headers=headers)  # noqa: S310 (loopback)
    try:
        with urllib.request.urlopen(request, timeout=60) as reply:  # noqa: S310
            return reply.status, reply.headers, reply.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers, error.read()


@pytest.mark.slow
@pytest.mark.engine
def test_a_key_is_refused_when_its_requests_are_used_up_and_told_when_to_come_again(limited):
    """The third request within a minute gets 429; others are not concerned."""
    assert [ask(limited, ALICE, max_tokens=2)[0] for _ in range(2)] == [200, 200]
    status, headers, body = ask(limited, ALICE, max_tokens=2)
    assert status == 429
    assert 1 <= int(headers["Retry-After"]) <= 30
    assert json.loads(body)["error"]["code"] == "rate_limit_exceeded"
    assert ask(limited, TOKEN, max_tokens=2)[0] == 200


@pytest.mark.slow
@pytest.mark.engine
def test_what_an_answer_used_counts_and_not_what_was_estimated(limited):
    """Three requests that were taken for 10 tokens each have used so many that 100 more do not fit; 300 would have."""
    for _ in range(3):
        status, headers, _ = ask(limited, BOB, max_tokens=2)
        assert status == 200
    trace = msgspec.json.decode(limited.get(f"/v1/traces/{headers['X-Request-Id']}"), type=ServerTrace)
    admit = next(span for span in trace.spans if span.name == "admit")
    assert (admit.attributes["key"], admit.attributes["estimated_tokens"]) == ("bob", 10)
    used = 3 * (trace.num_prompt_tokens + 2)
    assert used > 200
    status, headers, _ = ask(limited, BOB, max_tokens=92)
    assert status == 429
    assert 1 <= int(headers["Retry-After"]) <= 60 * (used + 100 - 300) // 300 + 1


@pytest.mark.slow
@pytest.mark.engine
def test_what_a_key_may_never_use_is_refused_for_good(limited):
    """There is no time after which it would fit."""
    status, headers, body = ask(limited, BOB, max_tokens=1000)
    assert (status, headers["Retry-After"]) == (400, None)
    assert json.loads(body)["error"]["code"] == "rate_limit_exceeded"


@pytest.mark.slow
@pytest.mark.engine
def test_a_key_sees_neither_traces_nor_metrics(limited):
    """Those are the master's, since they tell of others."""
    for path in ("/metrics", "/v1/traces/x"):
        assert ask(limited, ALICE, path)[0] == 403
    assert ask(limited, ALICE, "/v1/models")[0] == 200
    assert ask(limited, TOKEN, "/metrics")[0] == 200
    assert ask(limited, "nobody", "/v1/models")[0] == 401

"""The suite notices: one fault a family, made by a proxy, and a case of that family fails on it."""

from __future__ import annotations

import dataclasses
import importlib
import re

import pytest

from conformance.proxy import Fault, proxied

pytestmark = [pytest.mark.slow, pytest.mark.engine]


def without(field: str):
    """Return a change of a body that drops a field."""
    return lambda body: {name: value for name, value in body.items() if name != field}


def one_token_less(body: dict) -> dict:
    """Ask for one token less than the client did."""
    return body | {"max_tokens": max(1, body["max_tokens"] - 1)}


def forget_first_tokens(line: str) -> str:
    """Forget how often the time to the first token was measured."""
    return re.sub(r"(time_to_first_token_seconds_count\S+) \d+", r"\1 0", line)


FAULTS = {
    ("text", "accents_survive_the_stream"): Fault(line=lambda line: re.sub(r"[^\x00-\x7f]", "\ufffd", line)),
    ("stops", "no_part_of_a_stop_string_is_shown"): Fault(request=without("stop")),
    ("schemas", "a_reply_follows_its_schema"): Fault(request=without("response_format")),
    ("lengths", "an_answer_that_is_cut_has_exactly_its_length"): Fault(request=one_token_less),
    ("sampling", "a_seed_is_kept_beside_neighbours_without_one"): Fault(request=without("seed")),
    ("cache", "a_prompt_of_whole_blocks_can_be_asked_twice"): Fault(
        line=lambda line: re.sub(r'"cached_tokens":\d+', '"cached_tokens":0', line)
    ),
    ("shapes", "a_stream_ends_with_done"): Fault(line=lambda line: line.replace("data: [DONE]\n", "")),
    ("numbers", "every_finished_request_has_its_times"): Fault(line=forget_first_tokens),
    ("keys", "tokens_are_counted_before_any_work_is_done"): Fault(request=lambda body: body | {"max_tokens": 1}),
}
"""Family and case → what it must notice."""


def check_of(family: str, name: str):
    """Return a case's function."""
    return getattr(importlib.import_module(f"conformance.{family}"), name)


@pytest.mark.parametrize(("family", "name"), FAULTS, ids=lambda value: value)
def test_a_planted_fault_is_caught(family, name, target):
    """Through a faultless proxy the case holds; with the fault, the very same case fails."""
    check = check_of(family, name)
    with proxied(target.host, Fault()) as host:
        check(dataclasses.replace(target, host=host))
    with proxied(target.host, FAULTS[family, name]) as host, pytest.raises(AssertionError):
        check(dataclasses.replace(target, host=host))
    target.wait_until_idle()


def test_a_server_that_does_not_notice_a_leaving_client_is_caught(target):
    """The proxy reads on for a client that is gone, so the engine works for nobody, and the case says so."""
    check = check_of("leaving", "in_decode_without_a_stream")
    check(target)
    with proxied(target.host, Fault()) as host, pytest.raises(AssertionError, match="did not happen"):
        check(dataclasses.replace(target, host=host, patience_s=3))
    target.wait_until_idle()

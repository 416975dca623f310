"""Stop strings: across tokens, inside tokens, held back no longer than needed."""

from __future__ import annotations

from conformance.target import ANSWER, Target, case


def streamed(target: Target, **fields) -> list[str]:
    """Return the pieces of a streamed answer to the question."""
    events = target.chat_reply(stream=True, **fields).events
    return [event["choices"][0]["delta"]["content"] for event in events if event["choices"][0]["delta"].get("content")]


@case("stops", "vllm 3574, mlx-knife 68, SwiftLM 126")
def no_part_of_a_stop_string_is_shown(target: Target) -> None:
    """A stop string that spans tokens is held back from its first letter on."""
    assert "".join(streamed(target, stop="France is")) == "The capital of "
    assert target.chat(stop="France is").text == "The capital of "


@case("stops", "TGI 1039")
def a_stop_string_may_begin_and_end_inside_a_token(target: Target) -> None:
    """Where tokens begin does not matter."""
    assert target.chat(stop="ri").text == "The capital of France is Pa"
    assert target.chat(stop="pita").text == "The ca"


@case("stops", "vllm PR 45636")
def text_without_a_real_beginning_is_not_held_back(target: Target) -> None:
    """A stop string that never begins delays nothing: as many pieces as without it."""
    assert streamed(target, stop="zzzzzzzzzz") == streamed(target)


@case("stops", "vllm 3574")
def a_beginning_that_comes_to_nothing_is_shown(target: Target) -> None:
    """What was held back for a stop string that did not come is shown in full."""
    assert "".join(streamed(target, stop=["France was", "Paris!"])) == ANSWER


@case("stops", "sglang PR 1684, vllm PR 2976")
def the_reply_says_which_stop_string_it_was(target: Target) -> None:
    """``stop_reason`` names it, streamed and whole; without one it is null."""
    stops = ["nothing", "of Fra"]
    assert target.chat(stop=stops).raw["choices"][0]["stop_reason"] == "of Fra"
    assert target.chat_reply(stop=stops, stream=True).events[-1]["choices"][0]["stop_reason"] == "of Fra"
    assert target.chat().raw["choices"][0]["stop_reason"] is None


@case("stops", "llama.cpp PR 7198")
def a_stop_string_finishes_with_stop_and_frees_everything(target: Target) -> None:
    """The reason is stop, tokens end there, and the engine does not go on in the background."""
    answer = target.chat(stop="capital", max_tokens=100, ignore_eos=True)
    assert (answer.text, answer.reason) == ("The ", "stop")
    assert answer.num_tokens <= 3
    target.wait_until_idle()


@case("stops", "vllm 3574")
def the_first_of_several_stop_strings_wins(target: Target) -> None:
    """Whatever their order in the list."""
    assert target.chat(stop=["is", "of", "Paris"]).text == target.chat(stop=["Paris", "of"]).text == "The capital "


@case("stops", "CVE-2026-34756")
def stop_strings_are_bounded(target: Target) -> None:
    """At most four, none empty, none long."""
    for stop in (["a"] * 5, "", [""], "x" * 65, [1], {"a": 1}):
        reply = target.chat_reply(stop=stop)
        assert (reply.status, reply.error["code"]) == (400, "invalid_value")

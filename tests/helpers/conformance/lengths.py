"""Lengths: prompts that are empty or too long, answers of zero, one and too many tokens."""

from __future__ import annotations

from conformance.target import ANSWER, Target, case


@case("lengths", "sglang 3910, LlamaEdge 227")
def a_prompt_over_the_context_is_refused_and_others_go_on(target: Target) -> None:
    """It is a client's mistake with its own code, and the next request is served as ever."""
    reply = target.chat_reply(messages=[{"role": "user", "content": "word " * 3000}])
    assert (reply.status, reply.error["code"]) == (400, "context_length_exceeded")
    assert target.chat().text == ANSWER


@case("lengths", "vllm 765, tenstorrent/vllm 39")
def token_ids_over_the_context_are_refused(target: Target) -> None:
    """Ids skip the tokenizer, not the limit."""
    reply = target.completion_reply([42] * 100_000)
    assert (reply.status, reply.error["code"]) == (400, "context_length_exceeded")


@case("lengths", "aprender 665")
def an_answer_over_the_context_is_refused(target: Target) -> None:
    """A prompt that fits with an answer that does not is refused at once, not started."""
    steps = target.metric("spanreel_num_steps")
    reply = target.chat_reply(max_tokens=4000)
    assert (reply.status, reply.error["code"]) == (400, "context_length_exceeded")
    assert target.metric("spanreel_num_steps") == steps
    assert target.chat_reply(max_tokens=10**6).status == 400


@case("lengths", "sglang 3910")
def too_many_bytes_are_refused_before_they_are_tokenized(target: Target) -> None:
    """Over the limit of bytes nothing is tokenized; over the limit of a body nothing is parsed."""
    for messages in ([{"role": "user", "content": "é" * 150_000}], [{"role": "user", "content": "x" * 150_000}] * 2):
        reply = target.chat_reply(messages=messages)
        assert (reply.status, reply.error["code"]) == (400, "context_length_exceeded")
        assert "bytes" in reply.error["message"]
    assert target.chat_reply(messages=[{"role": "user", "content": "x" * 1_000_001}]).status == 413


@case("lengths", "vllm 7283, 7632, 1130")
def an_empty_prompt_is_refused_and_the_engine_lives(target: Target) -> None:
    """No tokens, no request; the next one is served."""
    for prompt in ("", [], [""]):
        assert target.completion_reply(prompt).status == 400
    assert target.complete("One,", max_tokens=1).num_tokens == 1


@case("lengths", "vllm 6521, 9336")
def an_answer_of_zero_tokens_is_refused(target: Target) -> None:
    """Zero and negative numbers are a client's mistake."""
    for number in (0, -1, 2**63, 1.5, "4"):
        assert target.chat_reply(max_tokens=number).status == 400


@case("lengths", "vllm 6521")
def an_answer_of_one_token_works(target: Target) -> None:
    """One token, streamed and whole."""
    answer = target.chat(max_tokens=1)
    assert (answer.text, answer.reason, answer.num_tokens) == ("The", "length", 1)
    assert [e["choices"][0]["finish_reason"] for e in target.chat_reply(max_tokens=1, stream=True).events][
        -1
    ] == "length"


@case("lengths", "vllm 6707")
def without_a_length_there_is_a_default(target: Target) -> None:
    """A chat ends by itself; a plain completion has sixteen tokens."""
    assert target.chat(max_tokens=None).text == ANSWER
    reply = target.completion_reply("One, two, three, four,", max_tokens=None)
    assert reply.json["usage"]["completion_tokens"] == 16


@case("lengths", "lmstudio 2335, llama.cpp PR 7198")
def an_answer_that_is_cut_has_exactly_its_length(target: Target) -> None:
    """The number asked for is the number given, and the reason is length."""
    for number in (1, 2, 5):
        answer = target.complete("One, two, three, four,", max_tokens=number)
        assert (answer.num_tokens, answer.reason) == (number, "length")


@case("lengths", "lmstudio 2335")
def the_counts_add_up(target: Target) -> None:
    """Prompt and answer are the total, and the prompt is as long as the tokenizer says."""
    text = "One, two, three,"
    usage = target.complete(text).raw["usage"]
    assert usage["prompt_tokens"] == len(target.tokenize(text))
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]


@case("lengths", "openai-python: max_completion_tokens")
def both_names_of_the_length_work(target: Target) -> None:
    """The newer name counts as the older one."""
    assert target.chat(max_tokens=None, max_completion_tokens=2).num_tokens == 2

"""Sampling: the same in any company, every parameter with an effect, a broken neighbour without one."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from conformance.target import ANSWER, Target, case
from nan_engine import POISON_IDS

COUNTING = "One, two, three, four,"
LOOP = "yes, yes, yes, yes, yes, yes, yes,"


def together(*calls):
    """Make calls at the same time and return what they return, in order."""
    with ThreadPoolExecutor(len(calls)) as pool:
        return [future.result() for future in [pool.submit(call) for call in calls]]


@case("sampling", "vllm 5898, 7779, 9567, 23138")
def greedy_is_the_same_alone_and_in_a_batch(target: Target) -> None:
    """Temperature zero means one answer, whoever else is there."""
    prompts = [COUNTING, "The sea is", "Red, green,", LOOP]
    alone = [target.complete(prompt, max_tokens=6).text for prompt in prompts]
    batch = together(*[lambda p=prompt: target.complete(p, max_tokens=6).text for prompt in prompts])
    assert batch == alone


@case("sampling", "vllm 51226, 17524, 21310")
def a_seed_is_kept_beside_neighbours_without_one(target: Target) -> None:
    """A seeded answer does not depend on who is in the batch, nor in which order."""

    def seeded(seed):
        return target.complete("Once upon a time", temperature=1.5, seed=seed, max_tokens=6).text

    def unseeded():
        return target.complete("Once upon a time", temperature=1.5, max_tokens=6).text

    alone = [seeded(1), seeded(2)]
    _, second, first, _ = together(unseeded, lambda: seeded(2), lambda: seeded(1), unseeded)
    assert [first, second] == alone
    assert alone[0] != alone[1]


@case("sampling", "vllm 17524")
def without_a_seed_answers_differ(target: Target) -> None:
    """At a high temperature three answers are not all the same."""
    assert len({target.complete("Once", temperature=2, max_tokens=6).text for _ in range(3)}) > 1


@case("sampling", "openai-python: top_p")
def one_candidate_is_greedy(target: Target) -> None:
    """With a single candidate left, however it was cut, temperature changes nothing."""
    greedy = target.complete(COUNTING).text
    for cut in ({"top_k": 1}, {"top_p": 1e-6}, {"min_p": 1}):
        assert target.complete(COUNTING, temperature=1.5, **cut).text == greedy


@case("sampling", "osaurus 295, vllm-metal PR 69, TensorRT-LLM PR 5623")
def presence_and_frequency_count_the_output_alone(target: Target) -> None:
    """The first token has no output before it, so these penalties leave it; repetition counts the prompt."""
    plain = target.complete(LOOP, max_tokens=1).text
    assert target.complete(LOOP, max_tokens=1, presence_penalty=2, frequency_penalty=2).text == plain
    assert target.complete(LOOP, max_tokens=1, repetition_penalty=10).text != plain


@case("sampling", "MTPLX PR 120")
def penalties_are_not_dropped(target: Target) -> None:
    """A text that repeats itself goes another way with each of the three."""
    plain = target.complete(LOOP, max_tokens=12).text
    for penalty in ({"presence_penalty": 2}, {"frequency_penalty": 2}, {"repetition_penalty": 2}):
        assert target.complete(LOOP, max_tokens=12, **penalty).text != plain, penalty


@case("sampling", "sglang 33187, colibri 369, flashinfer 1575")
def logits_that_are_no_numbers_end_one_request_alone(target: Target) -> None:
    """The poisoned request fails with the error object; its neighbour in the batch never notices."""
    poison = [*POISON_IDS, *target.tokenize("one")]

    def neighbour():
        return target.complete(COUNTING, max_tokens=12).text

    alone = neighbour()
    beside, failed = together(neighbour, lambda: target.completion_reply(poison, max_tokens=12))
    assert beside == alone
    assert failed.status == 500
    assert failed.error["code"] == "generation_failed"
    target.wait_until_idle()
    assert target.chat().text == ANSWER


@case("sampling", "vllm 52852, PR 40986")
def a_stream_that_fails_says_so_once(target: Target) -> None:
    """The error is the stream's one terminal event; there is no finish reason beside it."""
    events = target.completion_reply([*POISON_IDS, 5], stream=True).events
    assert [set(event) for event in events] == [{"error"}]
    assert events[0]["error"]["code"] == "generation_failed"


@case("sampling", "openai-python: logprobs")
def log_probabilities_come_with_a_chat(target: Target) -> None:
    """Each token of the text has one, the likeliest first; greedy chose the likeliest; they change nothing."""
    answer = target.chat(logprobs=True, top_logprobs=3)
    content = answer.raw["choices"][0]["logprobs"]["content"]
    assert "".join(token["token"] for token in content) == answer.text == ANSWER
    for token in content:
        top = [entry["logprob"] for entry in token["top_logprobs"]]
        assert len(top) == 3
        assert top == sorted(top, reverse=True)
        assert token["logprob"] == top[0] <= 0
        assert bytes(token["bytes"]).decode() == token["token"]


@case("sampling", "openai-python: logprobs")
def log_probabilities_come_with_a_stream(target: Target) -> None:
    """The chunks carry those of their own tokens, held-back ones included, and together all of them."""
    whole = target.complete("🎉" * 8, max_tokens=6, logprobs=1).raw["choices"][0]["logprobs"]
    events = target.completion_reply("🎉" * 8, max_tokens=6, logprobs=1, stream=True).events
    parts = [event["choices"][0]["logprobs"] for event in events if event["choices"][0]["text"]]
    assert [len(part["tokens"]) for part in parts] == [3, 3]
    assert [value for part in parts for value in part["token_logprobs"]] == whole["token_logprobs"]
    assert target.complete(COUNTING).raw["choices"][0]["logprobs"] is None

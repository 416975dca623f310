"""Cache and scheduler: prefix hits, prompts of whole blocks, preemption, a hundred requests in a row."""

from __future__ import annotations

import secrets

from conformance.sampling import together
from conformance.target import ANSWER, Target, case

BLOCK = 16


def fresh_ids(count: int) -> list[int]:
    """Return a prompt that nobody has asked before."""
    return [1000 + secrets.randbelow(40_000) for _ in range(count)]


@case("cache", "nano-vllm 144")
def a_prompt_of_whole_blocks_can_be_asked_twice(target: Target) -> None:
    """All of it is cached the second time, but its last block, and the answer is the same."""
    ids = fresh_ids(3 * BLOCK)
    first, second = target.complete(ids), target.complete(ids)
    assert second.text == first.text
    assert first.raw["usage"]["prompt_tokens_details"]["cached_tokens"] == 0
    assert second.raw["usage"]["prompt_tokens_details"]["cached_tokens"] == 2 * BLOCK


@case("cache", "MinivLLM PR 98")
def a_hit_gives_the_answer_of_a_miss(target: Target) -> None:
    """Two prompts with one beginning share its blocks, and both read as if alone."""
    shared = fresh_ids(2 * BLOCK)
    ends = [target.tokenize(text) for text in ("The capital of France", "One, two, three")]
    alone = [target.complete([*shared, *end]).text for end in ends]
    again = [target.complete([*shared, *end]) for end in ends]
    assert [answer.text for answer in again] == alone
    assert all(answer.raw["usage"]["prompt_tokens_details"]["cached_tokens"] == 2 * BLOCK for answer in again)


@case("cache", "vllm PR 54727")
def another_beginning_is_no_hit(target: Target) -> None:
    """A block is found only with everything before it: another first token makes everything new."""
    ids = fresh_ids(3 * BLOCK)
    target.complete(ids, max_tokens=1)
    other = target.complete([ids[0] + 1, *ids[1:]], max_tokens=1)
    assert other.raw["usage"]["prompt_tokens_details"]["cached_tokens"] == 0


@case("cache", "nano-vllm PR 211, 233, vllm PR 47900, vllm-ascend 16315")
def preemption_loses_no_token(target: Target) -> None:
    """Eight requests that outgrow the pool together: some are preempted, all end as they do alone."""
    before = target.metric("spanreel_preemptions_total")
    prompts = [fresh_ids(5 * BLOCK - 6) for _ in range(8)]
    batch = together(*[lambda p=prompt: target.complete(p, max_tokens=10, ignore_eos=True) for prompt in prompts])
    traces = [target.send("GET", f"/v1/traces/{answer.raw['id']}").json for answer in batch]
    assert any(any(trace["steps"]["preempted_ids"]) for trace in traces)
    target.wait_until(lambda: target.metric("spanreel_preemptions_total") > before)
    for prompt, answer in zip(prompts[-2:], batch[-2:], strict=True):
        assert answer.num_tokens == 10
        assert target.complete(prompt, max_tokens=10, ignore_eos=True).text == answer.text
    target.wait_until_idle()


@case("cache", "vllm 16832")
def the_pool_may_be_filled_by_one_request(target: Target) -> None:
    """A request as long as the whole pool is served to its last token."""
    limit = target.post("/tokenize", {"prompt": "x"}).json["max_model_len"]
    answer = target.complete([42] * (limit - 2), max_tokens=2, ignore_eos=True)
    assert answer.num_tokens == 2
    assert target.completion_reply([42] * (limit - 1), max_tokens=2).status == 400


@case("cache", "sglang 22779")
def a_hundred_requests_leave_a_server_that_answers(target: Target) -> None:
    """Nothing is used up by use."""
    calls = [lambda number=number: target.complete(f"{number}", max_tokens=1).num_tokens for number in range(100)]
    for start in range(0, 100, 10):
        assert together(*calls[start : start + 10]) == [1] * 10
    assert target.chat().text == ANSWER
    target.wait_until_idle()

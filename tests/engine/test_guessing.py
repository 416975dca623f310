"""Guessing ahead: what is guessed, that no token changes by it, and that the record shows what it brought."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytestmark = pytest.mark.engine

torch = pytest.importorskip("torch")

from demo_engine.core.config import EngineConfig  # noqa: E402 (after torch is known to be here)
from demo_engine.core.loop import EngineLoop  # noqa: E402
from demo_engine.core.request import EngineRequest, SamplingParams  # noqa: E402
from demo_engine.runner.ngram import guess_next  # noqa: E402
from demo_engine.runner.sampler import sample  # noqa: E402
from engine_fakes import Collector, CountingRunner, FakeClock, expected_tokens, half_right  # noqa: E402


def always_right(request, limit):
    """Guess exactly what the fake model will say."""
    return expected_tokens((*request.prompt_ids, *request.output_ids), limit)


def run(config: EngineConfig, proposals, requests) -> tuple[EngineLoop, Collector]:
    """Serve requests on the fake model with these guesses."""
    output, runner = Collector(), CountingRunner(config.block_size)
    runner.proposals = proposals
    loop = EngineLoop(config, runner, output, FakeClock())
    for request in requests:
        loop.submit(request)
    while loop.has_work:
        loop.step()
        loop.scheduler.blocks.check_integrity(loop.scheduler)
    return loop, output


def columns(loop: EngineLoop) -> dict[str, list[int]]:
    """Return the record of all steps."""
    return loop.log.columns(0, loop.log.num_steps - 1)


@pytest.mark.parametrize(
    ("token_ids", "limit", "guess"),
    [
        ([1, 2, 3, 4, 5, 1, 2], 3, [3, 4, 5]),  # what followed before
        ([1, 2, 9, 1, 2, 8, 1, 2], 1, [8]),  # the latest of two
        ([7, 1, 2, 9, 6, 1, 2, 8, 7, 1, 2], 1, [9]),  # the longer of two, though it is earlier
        ([5, 6, 5, 6], 5, [5, 6, 5, 6, 5]),  # a repetition goes on
        ([1, 2, 3, 4], 5, []),  # nothing was there before
        ([3, 3], 4, []),  # one token is too short a match here
        ([5, 256, 0, 9, 0, 1], 2, []),  # bytes that match across two tokens are no match
        ([4], 3, []),
    ],
)
def test_a_guess_is_what_followed_the_same_tokens(token_ids, limit, guess):
    """The longest match of two to four tokens counts, and of several the latest."""
    assert guess_next(token_ids, limit, longest=4, shortest=2) == guess


@given(st.lists(st.integers(0, 3), max_size=40), st.integers(1, 6), st.integers(1, 4), st.integers(1, 4))
def test_a_guess_agrees_with_a_plain_search(token_ids, limit, longest, shortest):
    """Token by token from the end, the plain search finds the same place."""
    guess = guess_next(token_ids, limit, longest, shortest)
    for length in range(min(longest, len(token_ids) - 1), shortest - 1, -1):
        starts = [s for s in range(len(token_ids) - length) if token_ids[s : s + length] == token_ids[-length:]]
        if starts:
            period = len(token_ids) - starts[-1] - length
            following = token_ids[-period:]
            assert guess == [following[index % period] for index in range(limit)]
            return
    assert guess == []


@pytest.mark.parametrize("proposals", [always_right, half_right, lambda request, limit: [-1] * limit])
@pytest.mark.parametrize("settings", [{}, {"enable_prefix_caching": True}, {"num_kv_blocks": 9}])
def test_right_and_wrong_guesses_change_no_token(proposals, settings):
    """Alone and together, with prefix hits and preemptions, the output is what it is without guesses."""
    config = EngineConfig(**{"block_size": 4, "num_kv_blocks": 40, "num_speculative_tokens": 3, **settings})
    prompts = {"a": (1, 2, 3, 4, 5), "b": (1, 2, 3, 4, 5, 6, 7, 8, 9), "c": (7,)}
    requests = [EngineRequest(name, prompt, SamplingParams(14)) for name, prompt in prompts.items()]
    loop, output = run(config, proposals, requests)
    assert output.tokens_by_id == {name: expected_tokens(prompt, 14) for name, prompt in prompts.items()}
    assert loop.scheduler.blocks.num_used == 0


def test_right_guesses_save_steps_and_the_record_says_so():
    """Thirteen tokens: one from the prompt, then three steps of four; guesses are counted, decodes are as before."""
    loop, output = run(
        EngineConfig(num_speculative_tokens=3), always_right, [EngineRequest("r", (1, 2), SamplingParams(13))]
    )
    record = columns(loop)
    assert record["draft_tokens"] == record["accepted_tokens"] == [0, 3, 3, 3]
    assert record["decode_tokens"] == [0, 1, 1, 1]
    assert record["prefill_tokens"] == [2, 0, 0, 0]
    assert len(output.tokens_by_id["r"]) == 13


def test_wrong_guesses_save_nothing():
    """Each step then gives one token, as it does without guesses."""
    loop, _ = run(
        EngineConfig(num_speculative_tokens=3), lambda *_: [-1, -1, -1], [EngineRequest("r", (1, 2), SamplingParams(6))]
    )
    assert columns(loop)["accepted_tokens"] == [0] * 6
    assert sum(columns(loop)["draft_tokens"]) > 0


def test_a_request_ends_inside_a_burst_at_its_stop_token():
    """What was guessed beyond it is not put out; the reason is the stop token's."""
    prompt = (1, 2)
    stop = expected_tokens(prompt, 3)[2]
    output, runner = Collector(), CountingRunner(16)
    runner.proposals, runner.stop_token_ids = always_right, frozenset({stop})
    loop = EngineLoop(EngineConfig(num_speculative_tokens=6), runner, output, FakeClock())
    loop.submit(EngineRequest("r", prompt, SamplingParams(9)))
    while loop.has_work:
        loop.step()
    assert output.tokens_by_id["r"] == expected_tokens(prompt, 3)
    assert output.reasons == {"r": "stop"}
    assert loop.scheduler.blocks.num_used == 0


@pytest.mark.parametrize("is_right", [True, False])
def test_only_what_was_right_can_be_found_by_others(is_right):
    """A block that a wrong guess filled is not in the prefix cache; those with the true tokens are."""
    prompt, wrong = (1, 2, 3), [5] * 7
    answer = expected_tokens(prompt, 9)
    config = EngineConfig(block_size=4, enable_prefix_caching=True, num_speculative_tokens=8)
    output, runner = Collector(), CountingRunner(4)
    runner.proposals = always_right if is_right else lambda *_: wrong
    loop = EngineLoop(config, runner, output, FakeClock())
    followers = {"as guessed": (*prompt, answer[0], *wrong), "as it came": (*prompt, *answer[:8])}
    for name, ids in ({"r": prompt} | followers).items():
        loop.submit(EngineRequest(name, ids, SamplingParams(9 if name == "r" else 1)))
        while loop.has_work:
            loop.step()
    assert output.cached_by_id == {"r": 0, "as guessed": 4, "as it came": 8}


def test_a_guess_costs_nobody_a_block():
    """Where blocks are short, guesses are dropped before anyone is preempted."""
    config = EngineConfig(block_size=4, num_kv_blocks=4, num_speculative_tokens=3)
    requests = [EngineRequest(name, (index, 2, 3), SamplingParams(5)) for index, name in enumerate("ab", 1)]
    loop, output = run(config, always_right, requests)
    assert loop.log.num_preemptions == 0
    assert output.reasons == {"a": "length", "b": "length"}


VOCAB_SIZE = 6
GUESS = 2
SAMPLING = {"temperature": 0.9, "top_p": 0.95}


@pytest.fixture(scope="module")
def rows():
    """Logits of two rows: after the last known token, and after the guess."""
    return torch.tensor([[0.5, -0.2, 0.9, 0.1, -1.0, 0.3], [1.2, 0.0, -0.4, 0.6, 0.2, -0.9]])


def draws(rows, drafts, num_seeds, **sampling):
    """Draw with seeds from 0 on; return what each gave."""
    requests = [
        EngineRequest("r", (0,), SamplingParams(9, seed=seed, **sampling), draft_ids=list(drafts))
        for seed in range(num_seeds)
    ]
    given = rows[: 1 + len(drafts)]
    return [tuple(one.token_id for one in sample(given, [request])[0]) for request in requests]


def test_guesses_preserve_the_distribution(rows):
    """The guess is accepted in its share of the draws; the others are spread as without it; so is what follows."""
    shares = torch.softmax(rows.double() / SAMPLING["temperature"], -1)
    with_guess = draws(rows, [GUESS], 3000, temperature=SAMPLING["temperature"])
    first = Counter(tokens[0] for tokens in with_guess)
    second = Counter(tokens[1] for tokens in with_guess if len(tokens) == 2)
    assert second.total() == first[GUESS]
    for counts, row in ((first, shares[0]), (second, shares[1])):
        for token, share in enumerate(row.tolist()):
            deviation = math.sqrt(counts.total() * share * (1 - share))
            assert abs(counts[token] - counts.total() * share) < 4 * deviation


@pytest.mark.parametrize("guess", range(VOCAB_SIZE))
def test_a_draw_is_the_same_with_and_without_a_guess(rows, guess):
    """Stronger than the distribution: seed by seed, the first token is that of a request that guesses nothing."""
    plain = draws(rows, [], 200, **SAMPLING)
    assert [tokens[:1] for tokens in draws(rows, [guess], 200, **SAMPLING)] == plain
    assert len(set(plain)) > 1


def test_no_neighbour_changes_what_a_guess_gives(rows):
    """In the midst of others with more and fewer guesses, a request's tokens are those it gets alone."""
    subject = EngineRequest("s", (0,), SamplingParams(9, seed=4, **SAMPLING), draft_ids=[GUESS])
    others = [
        EngineRequest(f"n{count}", (1,), SamplingParams(9, seed=count, **SAMPLING), draft_ids=[3] * count)
        for count in (0, 2)
    ]
    noise = torch.randn(3, VOCAB_SIZE, generator=torch.Generator().manual_seed(1))
    alone = sample(rows, [subject])
    together = sample(torch.cat([noise[:1], rows, noise]), [others[0], subject, others[1]])
    assert together[1] == alone[0]


def test_penalties_count_the_tokens_of_the_burst(rows):
    """The second token of a burst is penalised for the first, as it would be one step later."""
    sampling = SamplingParams(9, presence_penalty=9.0, logprobs=1)
    likely = int(rows[0].argmax())
    again = torch.stack([rows[0], rows[0]])
    request = EngineRequest("r", (0,), sampling, draft_ids=[likely])
    burst = sample(again, [request])[0]
    later = sample(rows[:1], [EngineRequest("r", (0,), sampling, [likely])])[0]
    assert [one.token_id for one in burst] == [likely, later[0].token_id]
    assert burst[1].token_id != likely
    assert burst[1].logprobs == later[0].logprobs


def test_a_row_that_is_no_number_fails_its_request_wherever_it_stands(rows):
    """Also behind a guess that might be wrong: its keys and values stand in the request's blocks."""
    broken = rows.clone()
    broken[1, 3] = float("nan")
    request = EngineRequest("r", (0,), SamplingParams(9), draft_ids=[0])
    neighbour = EngineRequest("n", (0,), SamplingParams(9))
    assert sample(torch.cat([broken, rows[:1]]), [request, neighbour])[0] == []
    assert sample(torch.cat([broken, rows[:1]]), [request, neighbour])[1] == sample(rows[:1], [neighbour])[0]

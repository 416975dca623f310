"""The sampler: independent of the batch, repeatable by seed, and faithful to the distribution."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.engine

torch = pytest.importorskip("torch")

from demo_engine.core.request import EngineRequest, SamplingParams  # noqa: E402 (after torch is known to be here)
from demo_engine.runner import sampler  # noqa: E402


def sample(logits, requests) -> list[int | None]:
    """Return the token ids alone, of requests without guesses."""
    return [chosen[0].token_id if chosen else None for chosen in sampler.sample(logits, requests)]


def request(seed: int, temperature: float = 1.0, num_output: int = 0) -> EngineRequest:
    """Return a request that has ``num_output`` tokens already."""
    return EngineRequest("r", (1,), SamplingParams(99, temperature, seed), [5] * num_output)


FIELDS = st.fixed_dictionaries(
    {"temperature": st.sampled_from([0.0, 0.7, 1.0])},
    optional={
        "top_k": st.integers(0, 20), "top_p": st.floats(0.01, 1), "min_p": st.floats(0, 1),
        "presence_penalty": st.floats(-2, 2), "frequency_penalty": st.floats(-2, 2),
        "repetition_penalty": st.floats(0.5, 2),
    },
)  # fmt: skip
OUTPUTS = st.lists(st.integers(0, 199), max_size=5)


@settings(max_examples=40, deadline=None)
@given(seeds=st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=6), data=st.data())
def test_a_draw_does_not_depend_on_its_neighbours(seeds, data):
    """Any order and any company give each request the token that it gets alone."""
    generator = torch.Generator().manual_seed(len(seeds))
    logits = torch.randn(len(seeds), 200, generator=generator)
    requests = [
        EngineRequest("r", (1, 2), SamplingParams(99, seed=seed, **data.draw(FIELDS)), data.draw(OUTPUTS))
        for seed in seeds
    ]
    alone = [sample(logits[i : i + 1], requests[i : i + 1])[0] for i in range(len(seeds))]
    order = data.draw(st.permutations(range(len(seeds))))
    together = sample(logits[list(order)], [requests[i] for i in order])
    assert together == [alone[i] for i in order]


def test_temperature_zero_takes_the_most_likely_token():
    """Greedy is argmax whatever the seed."""
    logits = torch.tensor([[0.0, 3.0, 1.0]])
    assert {sample(logits, [request(seed, 0.0)])[0] for seed in range(20)} == {1}


def test_draws_follow_the_shares():
    """Over many seeds each token comes about as often as softmax says."""
    logits = torch.log(torch.tensor([[0.5, 0.3, 0.15, 0.05]]))
    counts = torch.zeros(4)
    for seed in range(4000):
        counts[sample(logits, [request(seed)])[0]] += 1
    assert torch.allclose(counts / 4000, torch.tensor([0.5, 0.3, 0.15, 0.05]), atol=0.03)


def test_successive_tokens_of_one_request_are_drawn_anew():
    """The same seed gives another number for the next token, and the same one when a token is drawn again."""
    logits = torch.zeros(1, 1000)
    first = [sample(logits, [request(9, num_output=index)])[0] for index in range(20)]
    again = [sample(logits, [request(9, num_output=index)])[0] for index in range(20)]
    assert first == again
    assert len(set(first)) > 15


LOGITS = torch.log(torch.tensor([0.4, 0.3, 0.15, 0.1, 0.05]))


def drawn(logits=LOGITS, num_draws: int = 300, output=(), prompt=(1,), **fields) -> set[int]:
    """Return the tokens that come up over many seeds."""
    tokens = set()
    for seed in range(num_draws):
        params = SamplingParams(99, **{"temperature": 1.0} | fields, seed=seed)
        tokens.add(sample(logits[None], [EngineRequest("r", prompt, params, list(output))])[0])
    return tokens


@pytest.mark.parametrize(
    ("fields", "left"),
    [
        ({}, {0, 1, 2, 3, 4}),
        ({"top_k": 2}, {0, 1}),
        ({"top_k": 99}, {0, 1, 2, 3, 4}),
        ({"top_p": 0.6}, {0, 1}),
        ({"top_p": 0.75}, {0, 1, 2}),
        ({"top_p": 0.01}, {0}),
        ({"min_p": 0.3}, {0, 1, 2}),
        ({"min_p": 1.0}, {0}),
        ({"top_k": 4, "top_p": 0.95, "min_p": 0.3}, {0, 1, 2}),
    ],
)
def test_cuts_leave_exactly_the_tokens_that_they_name(fields, left):
    """Top-k counts, top-p stops at the token that reaches its sum, min-p compares with the largest share."""
    assert drawn(**fields) == left


def test_cuts_keep_the_proportions_of_what_is_left():
    """Top-k of 2 draws the two most likely tokens four to three, as before."""
    count = sum(
        sample(LOGITS[None], [EngineRequest("r", (1,), SamplingParams(9, 1.0, seed, top_k=2))]) == [0]
        for seed in range(3000)
    )
    assert abs(count / 3000 - 4 / 7) < 0.03


def greedy(logits, prompt=(2,), output=(), **fields) -> int | None:
    """Return the most likely token after penalties."""
    request = EngineRequest("r", prompt, SamplingParams(99, **fields), list(output))
    return sample(torch.tensor(logits)[None], [request])[0]


def test_presence_and_frequency_count_the_output_alone():
    """What stands in the prompt is not penalised; frequency counts every time, presence once."""
    logits = [3.0, 2.5, 0.0]
    assert greedy(logits, prompt=(0, 0, 0), presence_penalty=2.0, frequency_penalty=2.0) == 0
    assert greedy(logits, output=(0,), presence_penalty=0.6) == 1
    assert greedy(logits, output=(0, 0, 0), presence_penalty=0.4) == 0
    assert greedy(logits, output=(0, 0, 0), frequency_penalty=0.2) == 1
    assert greedy(logits, output=(0, 0), frequency_penalty=0.2) == 0


def test_repetition_counts_prompt_and_output_and_shrinks_either_sign():
    """Positive logits are divided and negative ones multiplied, so a penalised token always becomes less likely."""
    assert greedy([3.0, 2.5, 0.0], prompt=(0,), repetition_penalty=1.3) == 1
    assert greedy([3.0, 2.5, 0.0], output=(0,), repetition_penalty=1.3) == 1
    assert greedy([-1.0, -1.2, -9.0], prompt=(0,), repetition_penalty=1.3) == 1
    assert greedy([3.0, 2.5, 0.0], prompt=(1,), repetition_penalty=1.3) == 0


def test_penalties_leave_the_models_logits_alone():
    """The row that log probabilities are taken from is not changed."""
    logits = torch.tensor([[3.0, 2.5]])
    sample(logits, [EngineRequest("r", (0,), SamplingParams(9, repetition_penalty=2.0))])
    assert logits.tolist() == [[3.0, 2.5]]


def test_log_probabilities_are_the_models_own():
    """Chosen and top tokens carry log softmax of the raw logits, whatever penalties and temperature say."""
    params = SamplingParams(9, 0.7, seed=1, logprobs=3, presence_penalty=2.0, top_k=2)
    ((chosen,),) = sampler.sample(LOGITS[None], [EngineRequest("r", (1,), params, [0])])
    expected = torch.log_softmax(LOGITS.double(), -1)
    assert chosen.logprobs.chosen == float(expected[chosen.token_id])
    assert [token for token, _ in chosen.logprobs.top] == [0, 1, 2]
    assert [value for _, value in chosen.logprobs.top] == expected[:3].tolist()
    ((plain,),) = sampler.sample(LOGITS[None], [request(1)])
    assert plain.logprobs is None


@pytest.mark.parametrize("fault", [float("nan"), float("inf")])
def test_a_row_that_is_no_number_gives_no_token_and_harms_no_other(fault):
    """Wherever it stands, NaN is told as such; the rows beside it get the tokens that they get alone."""
    logits = torch.randn(3, 50, generator=torch.Generator().manual_seed(1))
    requests = [request(seed, temperature) for seed, temperature in ((1, 0.0), (2, 1.0), (3, 0.8))]
    alone = sample(logits, requests)
    logits[1, 17] = fault
    assert sample(logits, requests) == [alone[0], None, alone[2]]

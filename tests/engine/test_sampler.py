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
    """Return the token ids alone."""
    return [None if chosen is None else chosen.token_id for chosen in sampler.sample(logits, requests)]


def request(seed: int, temperature: float = 1.0, num_output: int = 0) -> EngineRequest:
    """Return a request that has ``num_output`` tokens already."""
    return EngineRequest("r", (1,), SamplingParams(99, temperature, seed), [5] * num_output)


@settings(max_examples=40, deadline=None)
@given(seeds=st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=6), data=st.data())
def test_a_draw_does_not_depend_on_its_neighbours(seeds, data):
    """Any order and any company give each request the token that it gets alone."""
    generator = torch.Generator().manual_seed(len(seeds))
    logits = torch.randn(len(seeds), 200, generator=generator)
    requests = [request(seed, data.draw(st.sampled_from([0.0, 0.7, 1.0]))) for seed in seeds]
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

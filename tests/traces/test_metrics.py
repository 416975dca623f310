"""Metrics: percentiles are refused where the sample is too small, and are values of the sample elsewhere."""

from __future__ import annotations

from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trace_factory import make_run
from traces import TraceError
from traces.metrics import SAMPLES_NEEDED, e2e_ns, percentile, receive_times_ns, ttft_ns
from traces.schema import COMPONENTS, Tokens


@pytest.mark.parametrize(("percent", "needed"), SAMPLES_NEEDED.items())
def test_a_percentile_of_too_few_values_is_refused(percent: int, needed: int) -> None:
    """One value less than the percentile needs is an error that says both numbers; with that one it is computed."""
    with pytest.raises(TraceError, match=f"n = {needed - 1} is too small for p{percent}, which needs {needed}"):
        percentile(list(range(needed - 1)), percent)
    assert percentile(list(range(needed)), percent) < needed


def test_a_percentile_without_a_known_n_is_refused() -> None:
    """p42 has no rule, so it has no value."""
    with pytest.raises(TraceError, match="p42"):
        percentile(list(range(1000)), 42)


@given(st.integers(459, 700), st.randoms(use_true_random=False), st.sampled_from([50, 90, 95, 99]))
def test_a_percentile_is_the_nearest_rank(size: int, random: Random, percent: int) -> None:
    """It is a value of the sample, at least ``percent`` % lie at or below it, and fewer lie strictly below."""
    values = [random.randrange(1000) for _ in range(size)]
    result = percentile(values, percent)
    assert result in values
    assert sum(value <= result for value in values) * 100 >= percent * len(values)
    assert sum(value < result for value in values) * 100 < percent * len(values)


def test_first_token_of_an_empty_answer_does_not_exist() -> None:
    """TTFT of a request without a token is an error, not 0."""
    request = msgspec.structs.replace(make_run(tokens=1).requests[0], num_output_tokens=0, tokens=Tokens())
    with pytest.raises(TraceError, match="0 tokens, 1 needed"):
        ttft_ns(request)


def test_receive_times_are_running_sums() -> None:
    """The first gap counts from the intended start, later ones from the token before."""
    request = make_run(tokens=5).requests[0]
    times = receive_times_ns(request)
    assert times[0] == ttft_ns(request) == request.tokens.recv_gap_ns[0]
    assert times == [sum(request.tokens.recv_gap_ns[: index + 1]) for index in range(5)]


def test_an_empty_path_lasts_nothing() -> None:
    """A request without spans has no end, which is 0."""
    assert e2e_ns([]) == 0


def test_lanes_have_one_order() -> None:
    """The component list is in lane order, each once, the unexplained rest last."""
    assert len(set(COMPONENTS)) == len(COMPONENTS)
    assert COMPONENTS[-1] == "unattributed"

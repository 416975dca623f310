"""Replay prints its factor and keeps to it."""

from hypothesis import given
from hypothesis import strategies as st

from scenes.grammar.replay import choose_replay


def test_a_request_of_a_few_seconds_plays_in_real_time():
    """One frame is a thirtieth of a second of the trace."""
    replay = choose_replay(2_610_000_000, 30)
    assert replay.words == "real time, ×1"
    assert replay.num_frames(2_610_000_000) == 79


@given(st.integers(min_value=100_000, max_value=600 * 10**9))
def test_any_request_plays_within_ten_seconds_at_the_printed_factor(duration_ns):
    """From microseconds to minutes, the film stays watchable and the words are the truth."""
    replay = choose_replay(duration_ns, 30)
    assert replay.num_frames(duration_ns) <= 301
    speed = replay.trace_ns_per_frame * 30 / 1e9
    printed = replay.words.split("×")[-1].removesuffix(" speed")
    expected = 1 / int(printed.removeprefix("1/")) if "/" in printed else int(printed)
    assert abs(speed / expected - 1) < 1e-9

"""Frames survive any split of the byte stream."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from demo_engine.core.request import SamplingParams, TokenLogprobs
from demo_engine.ipc.messages import (
    MAX_FRAME_BYTES,
    Beat,
    Cancel,
    FrameBuffer,
    Submit,
    Token,
    Tokens,
    decode_from_engine,
    decode_to_engine,
    pack,
)


@given(st.lists(st.integers(1, 200), max_size=60))
def test_frames_are_cut_right_wherever_the_stream_is(cuts):
    """Messages come out whole and in order, however the socket splits them."""
    sampling = SamplingParams(4, 0.5, seed=7, top_p=0.9, logprobs=2)
    sent = [Submit("r1", list(range(50)), sampling, priority=-1), Cancel("r1"), Cancel("žluťoučký")]
    stream = b"".join(map(pack, sent))
    buffer, got, place = FrameBuffer(), [], 0
    for cut in [*cuts, len(stream)]:
        got += [decode_to_engine(body) for body in buffer.feed(stream[place : place + cut])]
        place += cut
    assert got == sent


def test_a_frame_that_claims_to_be_huge_is_refused():
    """A length beyond the limit is an error at once, not an endless wait."""
    with pytest.raises(ValueError, match="limit"):
        list(FrameBuffer().feed((MAX_FRAME_BYTES + 1).to_bytes(4, "little")))


def test_messages_of_the_engine_keep_their_type():
    """The tag in a message restores its class."""
    tokens = Tokens(1, 2, 3, 4, 5, 6, [Token("r1", 7, None, TokenLogprobs(-0.5, ((7, -0.5), (8, -1.0))))])
    for message in (Beat(1, 2, 3, 4, 5), tokens):
        (body,) = FrameBuffer().feed(pack(message))
        assert decode_from_engine(body) == message

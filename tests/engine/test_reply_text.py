"""A reply's text on its way out: whatever is held back and however tokens are framed, it is the same text."""

from __future__ import annotations

import asyncio
import itertools
from types import SimpleNamespace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from demo_engine.api.detokenizer import Detokenizer
from demo_engine.api.frames import TokenFrames
from demo_engine.api.generation import Generation
from demo_engine.api.replica import TokenEvent
from demo_engine.api.stops import StopFinder
from demo_engine.core.config import EngineConfig
from demo_engine.core.request import SamplingParams
from demo_engine.ipc.messages import Accepted, Started, Tokens
from demo_engine.recorder.server_trace import StageClock

STOP_ID = 999
ARMS = st.sampled_from(["match", "fixed"])
TEXTS = st.text(st.sampled_from("abé☕👩\u200d"), max_size=30)


class ScriptedReplica:
    """Answers a request with a token for each piece of bytes, then with a stop token."""

    def __init__(self, num_tokens: int, config: EngineConfig) -> None:
        self.config = config
        self.bracket_ns = 0
        self._num_tokens = num_tokens

    def submit(self, message):
        """Return the events of the whole reply."""
        events = asyncio.Queue()
        events.put_nowait(Accepted(message.request_id, 1, 0))
        events.put_nowait(Started([message.request_id], 2, [0]))
        for index in range(self._num_tokens + 1):
            is_last = index == self._num_tokens
            step = Tokens(index, index, index, index, index, index, [])
            events.put_nowait(TokenEvent(STOP_ID if is_last else index, "stop" if is_last else None, step, index))
        return events

    def cancel(self, _request_id):
        """Nothing is left to cancel."""


def reply(pieces: list[bytes], stops: list[str], config: EngineConfig) -> SimpleNamespace:
    """Return the events that a stream would carry, and what is recorded of its tokens."""
    finder = StopFinder(stops, config.stop_hold_back)
    replica = ScriptedReplica(len(pieces), config)
    generation = Generation("r", StageClock(itertools.count().__next__), replica, [1], Detokenizer(pieces), finder)

    async def run():
        frames, events = TokenFrames(config.tokens_per_frame), []
        async for delta in generation.run(SamplingParams(100)):
            if (frame := frames.push(delta)) is not None:
                generation.handed_out(len(events), len(events))
                events.append(frame.text)
        return events

    return SimpleNamespace(events=asyncio.run(run()), tokens=generation.tokens, stop=finder.matched)


def cut(data: bytes, cuts: list[int]) -> list[bytes]:
    """Cut bytes at the given places."""
    places = sorted({0, len(data), *(place % (len(data) + 1) for place in cuts)})
    return [data[a:b] for a, b in itertools.pairwise(places)]


@given(
    TEXTS, st.lists(st.integers(0, 99)), st.lists(st.text("abé☕", min_size=1, max_size=5), max_size=4), ARMS,
    st.integers(1, 9),
)  # fmt: skip
@example("naïve ☕ 👩‍👩‍👧", list(range(40)), ["☕ 👩!"], "fixed", 3)
def test_however_it_is_streamed_the_text_is_the_same(text, cuts, stops, arm, tokens_per_frame):
    """Both arms and all frame sizes send the same text, which ends before the same stop string."""
    pieces = cut(text.encode(), cuts)
    plain = reply(pieces, stops, EngineConfig())
    streamed = reply(pieces, stops, EngineConfig(stop_hold_back=arm, tokens_per_frame=tokens_per_frame))
    sent = "".join(streamed.events)
    assert sent == "".join(streamed.tokens.text) == "".join(plain.events)
    assert streamed.stop == plain.stop
    assert text.startswith(sent + streamed.stop) if streamed.stop else text == sent
    assert not any(stop in sent for stop in stops)


@given(
    TEXTS, st.lists(st.integers(0, 99)), st.lists(st.text("☕b", min_size=1, max_size=9), max_size=2), ARMS, st.data()
)
def test_a_token_went_out_with_the_event_that_completes_it(text, cuts, stops, arm, data):
    """All events up to that one hold the token's bytes, and without that one they do not."""
    pieces = cut(text.encode(), cuts)
    frame_size = data.draw(st.integers(1, 5))
    streamed = reply(pieces, stops, EngineConfig(stop_hold_back=arm, tokens_per_frame=frame_size))
    events, tokens = streamed.events, streamed.tokens
    assert len(tokens.event) == len(tokens.write_ns) == len(tokens.detok_ns) == len(tokens.id)
    assert tokens.event == sorted(tokens.event)
    assert tokens.detok_ns == sorted(tokens.detok_ns)
    last = len(events) - 1
    known = b""
    for token_id, event in zip(tokens.id, tokens.event, strict=True):
        known += pieces[token_id] if token_id != STOP_ID else b""
        if event < last:
            assert "".join(events[: event + 1]).encode().startswith(known)
            assert len("".join(events[:event]).encode()) < len(known) or not pieces[token_id]


def test_a_fixed_length_is_held_back_whatever_the_text_is():
    """With a stop string of four characters the last three always wait, although none of them begins it."""
    config = EngineConfig(stop_hold_back="fixed")
    streamed = reply([b"one ", b"two ", b"six"], ["STOP"], config)
    assert streamed.events == ["o", "ne t", "wo ", "six"]
    assert streamed.tokens.event == [1, 2, 3, 3]
    assert reply([b"one ", b"two ", b"six"], ["STOP"], EngineConfig()).events == ["one ", "two ", "six", ""]


@pytest.mark.parametrize("arm", ["match", "fixed"])
def test_the_last_frame_is_sent_although_it_is_not_full(arm):
    """Frames of three tokens: two full ones, and what is left at the end, or up to the stop string."""
    pieces = [letter.encode() for letter in "abcdefgh"]
    config = EngineConfig(stop_hold_back=arm, tokens_per_frame=3)
    assert reply(pieces, [], config).events == ["abc", "def", "gh"]
    cut_short = reply(pieces, ["h"], config)
    assert cut_short.events == ["abc", "def", "g"]
    assert cut_short.tokens.event == [0, 0, 0, 1, 1, 1, 2, 2]

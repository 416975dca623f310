"""Stop strings: never shown, however the text is cut into pieces, and nothing else is held back."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from demo_engine.api.stops import StopFinder


def shown(stops: list[str], pieces: list[str]) -> tuple[list[str], str | None]:
    """Return what is shown after each piece, and at the end, and the stop string that was found."""
    finder = StopFinder(stops)
    parts = []
    for piece in pieces:
        parts.append(finder.push(piece))
        if finder.matched is not None:
            return parts, finder.matched
    return [*parts, finder.finish()], None


@given(st.text("abé", max_size=30), st.lists(st.text("abé", min_size=1, max_size=4), max_size=4), st.data())
def test_any_cut_shows_the_text_up_to_the_first_stop_string(text, stops, data):
    """Whatever the pieces are, what is shown is what a search in the whole text would leave."""
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    edges = [0, *cuts, len(text)]
    pieces = [text[a:b] for a, b in itertools.pairwise(edges)]
    ends = {index + len(stop) for stop in stops if (index := text.find(stop)) >= 0}
    parts, matched = shown(stops, pieces)
    result = "".join(parts)
    assert text.startswith(result)
    assert not any(stop in result for stop in stops)
    assert (matched is None) == (not ends)
    if matched is None:
        assert result == text
    else:
        assert text.startswith(result + matched)


@pytest.mark.parametrize(
    ("stops", "pieces", "expected", "matched"),
    [
        (["DEFGHIJ"], ["ABC", "DEF", "G", "HI", "J", "K"], ["ABC", "", "", "", ""], "DEFGHIJ"),
        (["DEFGHIJ"], ["ABC", "DEF", "G", "X"], ["ABC", "", "", "DEFGX", ""], None),
        (["\nUser:"], ["hi\n", "User", ": yo"], ["hi", "", ""], "\nUser:"),
        (["ri"], ["Paris"], ["Pa"], "ri"),
        (["aab"], ["aaa", "ab"], ["a", "a"], "aab"),
        (["</s>"], ["<think>", "x"], ["<think>", "x", ""], None),
        (["b", "ab"], ["ab"], [""], "ab"),
    ],
)
def test_only_a_real_beginning_is_held_back(stops, pieces, expected, matched):
    """What cannot become a stop string goes out at once; the earliest match wins."""
    assert shown(stops, pieces) == (expected, matched)

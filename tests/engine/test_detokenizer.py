"""The detokenizer on any bytes, cut anywhere."""

from __future__ import annotations

import itertools

from hypothesis import example, given
from hypothesis import strategies as st

from demo_engine.api.detokenizer import Detokenizer, byte_level_alphabet, token_bytes


def pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    """Cut ``data`` at the given places."""
    places = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    return [data[a:b] for a, b in itertools.pairwise(places)] if data else []


@given(st.binary(max_size=60), st.lists(st.integers(0, 60)))
@example("naïve ☕ 👩‍👩‍👧".encode(), list(range(60)))
@example(b"\xf0\x9f\x98", [1, 2])
def test_the_pieces_add_up_to_the_whole(data, cuts):
    """However the bytes are cut into tokens, the text is that of all bytes decoded at once."""
    table = pieces(data, cuts)
    detokenizer = Detokenizer(table)
    text = "".join(detokenizer.push(index) for index in range(len(table))) + detokenizer.finish()
    assert text == data.decode("utf-8", errors="replace")


@given(st.text(max_size=30), st.lists(st.integers(0, 120)))
def test_a_character_that_completes_is_never_replaced(text, cuts):
    """Valid text comes out as itself: no piece of it shows a replacement character that is not in it."""
    data = text.encode()
    table = pieces(data, cuts)
    detokenizer = Detokenizer(table)
    out = [detokenizer.push(index) for index in range(len(table))]
    assert "".join(out) + detokenizer.finish() == text
    if "\ufffd" not in text:
        assert not any("\ufffd" in piece for piece in out)


def test_the_alphabet_covers_every_byte_once():
    """The byte-level alphabet is a bijection onto the 256 bytes."""
    assert sorted(byte_level_alphabet().values()) == list(range(256))


def test_special_tokens_have_no_text():
    """A special token adds nothing; an ordinary one is read through the alphabet; an unknown id is silent."""
    table = token_bytes({"<|end|>": 0, "Ġcaf": 1, "Ã©": 2}, frozenset({0}))
    detokenizer = Detokenizer(table)
    assert [detokenizer.push(index) for index in (1, 2, 0, 99)] == [" caf", "é", "", ""]

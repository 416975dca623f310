"""The free list against a plain list: the same order after any changes, wherever they happen."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from demo_engine.core.free_list import FreeList

SIZE = 8


@given(st.lists(st.tuples(st.sampled_from(["pop", "remove", "first", "last"]), st.integers(0, SIZE - 1)), max_size=60))
def test_it_behaves_like_a_list(actions):
    """Taking from the front, out of the middle, and putting back at both ends keeps order and length."""
    free, model = FreeList(SIZE), list(range(SIZE))
    for action, number in actions:
        if action == "pop" and model:
            assert free.pop_first() == model.pop(0)
        elif action == "remove" and number in model:
            free.remove(number)
            model.remove(number)
        elif action == "first" and number not in model:
            free.push_first(number)
            model.insert(0, number)
        elif action == "last" and number not in model:
            free.push_last(number)
            model.append(number)
        assert list(free) == model
        assert len(free) == len(model)


def test_an_empty_list_has_nothing_to_take():
    """Taking from an empty list is an error, not a wrong block."""
    free = FreeList(0)
    with pytest.raises(IndexError, match="no block"):
        free.pop_first()

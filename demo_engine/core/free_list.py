"""The free blocks in the order in which they will be taken, as a doubly linked list that lives in two arrays."""

from __future__ import annotations

from collections.abc import Iterator


class FreeList:
    """Numbers from 0 up to ``size``, each at most once; every change is O(1), wherever in the list it happens."""

    def __init__(self, size: int) -> None:
        self._end = size  # stands before the first and after the last
        self._next: list[int] = [*range(1, size + 1), 0]
        self._previous: list[int] = [size, *range(size)]
        self._length = size

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[int]:
        """Iterate from the one that is taken next."""
        number = self._next[self._end]
        while number != self._end:
            yield number
            number = self._next[number]

    def pop_first(self) -> int:
        """Take the first one out.

        Raises:
            IndexError: There is none.
        """
        number = self._next[self._end]
        if number == self._end:
            raise IndexError("no block is free")
        self.remove(number)
        return number

    def remove(self, number: int) -> None:
        """Take out one that is in the list."""
        before, after = self._previous[number], self._next[number]
        self._next[before], self._previous[after] = after, before
        self._length -= 1

    def push_first(self, number: int) -> None:
        """Put in one that is not in the list, to be taken next."""
        self._insert(self._end, number)

    def push_last(self, number: int) -> None:
        """Put in one that is not in the list, to be taken after all others."""
        self._insert(self._previous[self._end], number)

    def _insert(self, before: int, number: int) -> None:
        after = self._next[before]
        self._previous[number], self._next[number] = before, after
        self._next[before] = self._previous[after] = number
        self._length += 1

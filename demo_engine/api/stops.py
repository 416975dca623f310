"""Stop strings: found wherever they begin and end, and never shown, not even their beginning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal


class StopFinder:
    """Cuts the text of one reply at the first stop string.

    Args:
        stops: The stop strings.
        hold_back: What is not shown yet. ``match``: only what may still become a stop string, so text without such a
            beginning is not delayed. ``fixed``: always as many characters as the longest stop string has, less one.
    """

    def __init__(self, stops: Sequence[str], hold_back: Literal["match", "fixed"] = "match") -> None:
        self.matched: str | None = None
        """The stop string that was found."""
        self._stops = stops
        self._num_always_held = max(map(len, stops), default=1) - 1 if hold_back == "fixed" else 0
        self._held = ""

    def push(self, text: str) -> str:
        """Return the text that is certain to be shown; after a match nothing more is."""
        if self.matched is not None:
            return ""
        text = self._held + text
        found = [(index, stop) for stop in self._stops if (index := text.find(stop)) >= 0]
        if found:
            index, self.matched = min(found)
            self._held = ""
            return text[:index]
        num_held = max([self._num_always_held, *(_overlap(text, stop) for stop in self._stops)])
        num_shown = max(0, len(text) - num_held)
        self._held = text[num_shown:]
        return text[:num_shown]

    def finish(self) -> str:
        """Return what was held back and did not become a stop string."""
        held, self._held = self._held, ""
        return held


def _overlap(text: str, stop: str) -> int:
    """Return the length of the longest end of ``text`` that begins ``stop``."""
    longest = min(len(text), len(stop) - 1)
    return next((length for length in range(longest, 0, -1) if text.endswith(stop[:length])), 0)

"""Stop strings: found wherever they begin and end, and never shown, not even their beginning."""

from __future__ import annotations

from collections.abc import Sequence


class StopFinder:
    """Cuts the text of one reply at the first stop string.

    Only what may still become a stop string is held back, so text without such a beginning is not delayed.
    """

    def __init__(self, stops: Sequence[str]) -> None:
        self.matched: str | None = None
        """The stop string that was found."""
        self._stops = stops
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
        num_held = max((_overlap(text, stop) for stop in self._stops), default=0)
        self._held = text[len(text) - num_held :]
        return text[: len(text) - num_held]

    def finish(self) -> str:
        """Return what was held back and did not become a stop string."""
        held, self._held = self._held, ""
        return held


def _overlap(text: str, stop: str) -> int:
    """Return the length of the longest end of ``text`` that begins ``stop``."""
    longest = min(len(text), len(stop) - 1)
    return next((length for length in range(longest, 0, -1) if text.endswith(stop[:length])), 0)

"""The watch over edges that mean time: they may move only in step with time."""

from __future__ import annotations

from collections.abc import Iterable

from scenes.render.drawn import Drawn
from scenes.render.errors import RenderError

_TOLERANCE_PX = 1e-6


class EdgeWatch:
    """Remembers where the edges of bars and hairlines stood, and says when one moved other than by growing."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Drawn, float, float]] = {}

    def check(self, parts: Iterable[Drawn]) -> None:
        """Compare edges with where they stood; those seen for the first time are remembered.

        Raises:
            RenderError: An edge moved.
        """
        for part in parts:
            if part.mark is None or not part.mark.moves_linearly:
                continue
            x0, _, x1, _ = part.edges
            _, known_x0, known_x1 = self._known.setdefault(id(part), (part, x0, x1))
            if max(abs(x0 - known_x0), abs(x1 - known_x1)) > _TOLERANCE_PX:
                raise RenderError(
                    f"mark {part.mark.id!r} moved from x {known_x0:g} to {known_x1:g} px to x {x0:g} to {x1:g} px; "
                    "moves in time must be linear: use Grow or Sweep"
                )

    def accept(self, part: Drawn) -> None:
        """Remember where the edges of a part stand now, after it has grown."""
        x0, _, x1, _ = part.edges
        self._known[id(part)] = (part, x0, x1)

"""What a box says that it stands for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

MarkKind = Literal["bar", "hairline", "bracket", "marker", "separator"]


@dataclass(frozen=True)
class MarkInfo:
    """The ledger's entry of a box, without its edges: those are read from where the box stands at each pause."""

    id: str
    kind: MarkKind
    binding: str
    source: str
    axis: str
    start_ns: int
    duration_ns: int
    readable: bool = True
    cut_left: bool = False
    cut_right: bool = False

    @property
    def moves_linearly(self) -> bool:
        """Whether its edges may move only in step with time."""
        return self.kind in ("bar", "hairline")

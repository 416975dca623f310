"""What can be wrong with a built deck, one record a fault."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

import msgspec

Kind = Literal["hash", "stale", "binding", "missing", "scale", "edge", "ink", "motion", "label", "text", "claim"]

MEANING: dict[Kind, tuple[str, str]] = {
    "stale": ("the trace set is not the one that was drawn", "build again with: spanreel build"),
    "hash": ("a file is not the one that was built", "build again with: spanreel build"),
    "binding": ("the ledger says something else than the trace", "build again; if it stays, the clip binds wrongly"),
    "missing": ("a span has no mark, or a mark cannot be found", "the clip must draw every span once"),
    "scale": ("the drawn scale is not the stated one", "the clip must place ticks, bars and factor by one scale"),
    "edge": ("a bar's edge is not where its span says", "build again; if it stays, the clip draws wrongly"),
    "ink": ("something looks like a bar and has no measurement", "the clip must register it as a mark or recolour it"),
    "motion": ("a bar does not move in step with time", "the clip must grow it with Grow or Sweep"),
    "label": ("a text does not say what the trace says", "the clip must fill its template from the trace"),
    "text": ("a text cannot be read as it should", "the clip must move, enlarge or recolour it"),
    "claim": ("a title is not what the trace supports", "build again with: spanreel build"),
}
"""What a fault of each kind means, and the next step."""


class Fault(msgspec.Struct, frozen=True):
    """One thing that does not hold."""

    kind: Kind
    found: str
    """What is there, with its unit."""
    expected: str = ""
    """What should be there."""
    clip: str = ""
    where: str = ""
    """Pause or frame."""
    mark: str = ""
    """The mark, text or file that it is about."""

    def sentence(self) -> str:
        """Return the fault in words."""
        place = " ".join(part for part in (self.clip, self.where, self.mark) if part)
        wanted = f", expected {self.expected}" if self.expected else ""
        return f"{place}: {self.found}{wanted}"


def located(faults: Iterable[Fault], clip: str, where: str = "") -> Iterator[Fault]:
    """Return the faults with the place that they were found in."""
    for fault in faults:
        yield msgspec.structs.replace(fault, clip=fault.clip or clip, where=fault.where or where)

"""What one examination found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Purpose = Literal["deck", "live", "tests"]

PURPOSES: dict[Purpose, str] = {
    "deck": "building the deck",
    "live": "profile and live demos",
    "tests": "the browser tests",
}


@dataclass(frozen=True)
class Finding:
    """One kind of thing that spanreel needs: what is here of it, and what is missing."""

    name: str
    purpose: Purpose
    found: tuple[str, ...]
    missing: tuple[str, ...]
    command: str
    """What brings the missing things."""

    @property
    def ok(self) -> bool:
        """Whether nothing is missing."""
        return not self.missing


def only_missing(findings: list[Finding], purpose: Purpose) -> list[Finding]:
    """Return the findings of one purpose that lack something."""
    return [finding for finding in findings if finding.purpose == purpose and not finding.ok]

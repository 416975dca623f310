"""What verify found, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from spanreel.verify.faults import MEANING, Fault

_SHOWN_PER_KIND = 3


class Claims(msgspec.Struct, frozen=True):
    """How many titles hold on this trace, and how many are shown as their counter-title."""

    hold: int
    countered: int


class Report(msgspec.Struct, frozen=True):
    """The object that ``spanreel verify --json`` prints."""

    set: str
    clips: int
    bars: int
    """Bars on all pictures."""
    bound: int
    """Of these, bars without a fault."""
    markers: list[dict[str, str | int]]
    """Marks that are too thin or too covered to be read."""
    max_px_error: float
    max_frame_error: float
    texts: int
    text_faults: int
    claims: Claims
    hashes_ok: bool
    ok: bool
    faults: list[Fault]


def summary(report: Report) -> Iterator[str]:
    """Return the report in lines of plain words."""
    yield (
        f"{report.set}: {report.clips} clips, {report.bound} of {report.bars} bars as measured "
        f"(furthest off {report.max_px_error:.2f} px, {report.max_frame_error:.2f} frames), "
        f"{report.texts} texts, {report.text_faults} faulty"
    )
    yield (
        f"titles: {report.claims.hold} hold, {report.claims.countered} countered; "
        f"hashes {'agree' if report.hashes_ok else 'differ'}; "
        f"{len(report.markers)} marks too thin or too covered to read"
    )
    for kind, (meaning, step) in MEANING.items():
        own = [fault for fault in report.faults if fault.kind == kind]
        if own:
            yield f"{kind}: {len(own)} × {meaning}; {step}"
            yield from (f"  {fault.sentence()}" for fault in own[:_SHOWN_PER_KIND])
            if len(own) > _SHOWN_PER_KIND:
                yield f"  and {len(own) - _SHOWN_PER_KIND} more; all with --json"

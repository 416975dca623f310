"""Digests: the deck's files are those that were built, and the trace set is the one that they were built from."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from scenes.ledger import Clip
from spanreel.deck import BuiltClip, Deck
from spanreel.verify.faults import Fault
from traces import TraceSet
from traces.storage import digest

_SHOWN = 12
_EMBEDDED = re.compile(rb'<script [^>]*data-file="([^"]+)"[^>]*>\s*([A-Za-z0-9+/]+={0,2})\s*</script>')


def stale_faults(deck: Deck, trace_set: TraceSet) -> Iterator[Fault]:
    """Compare the trace set with the one that the deck was built from."""
    actual = digest((trace_set.path / "set.json").read_bytes())
    if actual != deck.set_sha256:
        yield Fault("stale", f"sha256 {actual[:_SHOWN]}", deck.set_sha256[:_SHOWN], mark=f"{deck.set}/set.json")
    for experiment, expected in deck.traces.items():
        found = trace_set.sha256.get(experiment, "none")
        if found != expected:
            yield Fault("stale", f"sha256 {found[:_SHOWN]}", expected[:_SHOWN], mark=f"experiment {experiment}")


def output_faults(deck: Deck, folder: Path) -> Iterator[Fault]:
    """Compare the deck's files with their digests."""
    for output in deck.outputs:
        yield from _file_fault(folder / output.file, output.sha256, output.file)


def clip_faults(built: BuiltClip, folder: Path) -> Iterator[Fault]:
    """Compare a clip's ledger and stills with their digests."""
    below = folder / built.folder
    yield from _file_fault(below / "clip.json", built.clip_sha256, f"{built.folder}/clip.json")
    clip = read_clip(built, folder)
    if isinstance(clip, Fault):
        yield clip
        return
    if clip.unit_hash != built.unit_hash:
        yield Fault("hash", f"unit {clip.unit_hash[:_SHOWN]}", built.unit_hash[:_SHOWN], clip=clip.clip)
    for pause in clip.pauses:
        yield from _file_fault(below / pause.still, pause.still_sha256, f"{built.folder}/{pause.still}")


def read_clip(built: BuiltClip, folder: Path) -> Clip | Fault:
    """Return a clip's ledger, or why it cannot be read."""
    try:
        return msgspec.json.decode((folder / built.folder / "clip.json").read_bytes(), type=Clip)
    except (OSError, msgspec.DecodeError) as error:
        return Fault("hash", str(error), "the ledger of the clip", mark=f"{built.folder}/clip.json")


def embedded_faults(page: Path, clips: list[Clip]) -> Iterator[Fault]:
    """Compare the segments that a page carries with those that were drawn."""
    if not page.is_file():
        return
    carried = {name.decode(): digest(base64.b64decode(data)) for name, data in _EMBEDDED.findall(page.read_bytes())}
    for clip in clips:
        for segment in clip.segments:
            found = carried.get(f"{clip.clip}/{segment.file}", "nothing")
            if found != segment.sha256:
                seen = f"{page.name} carries {found[:_SHOWN]} as {segment.file}"
                yield Fault("hash", seen, segment.sha256[:_SHOWN], clip=clip.clip)


def _file_fault(file: Path, expected: str, name: str) -> Iterator[Fault]:
    try:
        actual = digest(file.read_bytes())
    except OSError as error:
        yield Fault("hash", error.strerror or "cannot be read", expected[:_SHOWN], mark=name)
        return
    if actual != expected:
        yield Fault("hash", f"sha256 {actual[:_SHOWN]}", expected[:_SHOWN], mark=name)

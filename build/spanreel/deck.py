"""``deck.json``: what a build made, from which traces, and where in the film each pause stands."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from spanreel.errors import InputError

DECK_VERSION = 1
DECK_FILE = "deck.json"


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of the manifest's records."""


class BuiltClip(Record, frozen=True):
    """A clip of the deck. Its folder holds ``clip.json``, stills and bitmaps of texts."""

    id: str
    unit_hash: str
    folder: str
    """Below the deck's own folder."""
    clip_sha256: str
    """Digest of ``clip.json``."""
    first_frames: list[int]
    """Frame of ``deck.mp4`` at which each segment begins; empty without a film."""
    hold_frames: list[int]
    """How long each pause's picture is held after its segment's last frame."""


class BuiltSlide(Record, frozen=True):
    """A slide as built."""

    id: str
    part: str
    kind: Literal["clip", "demo", "still", "text"]
    title: str
    claim: Literal["holds", "countered", "none"]
    minutes: float
    notes: str
    clip: BuiltClip | None = None
    demo: str | None = None


class Output(Record, frozen=True):
    """A file of the deck."""

    file: str
    sha256: str
    num_bytes: int


class Deck(Record, frozen=True):
    """A built deck."""

    deck_version: int
    set: str
    set_dir: str
    """As it was found: relative to the checkout where it lies inside, else absolute."""
    set_sha256: str
    """Digest of ``set.json``."""
    traces: dict[str, str]
    """Digest of each experiment file, by experiment id."""
    fps: int
    width_px: int
    height_px: int
    slides: list[BuiltSlide]
    outputs: list[Output]


def load_deck(folder: Path) -> Deck:
    """Read the manifest of a built deck.

    Raises:
        InputError: There is no deck, or its manifest cannot be read.
    """
    file = folder / DECK_FILE
    try:
        deck = msgspec.json.decode(file.read_bytes(), type=Deck)
    except OSError as error:
        raise InputError(f"no built deck in {folder} ({error.strerror}); build one with: spanreel build") from error
    except msgspec.DecodeError as error:
        raise InputError(f"{file}: {error}; build the deck again with: spanreel build") from error
    if deck.deck_version != DECK_VERSION:
        raise InputError(
            f"{file}: deck version {deck.deck_version}, this spanreel reads {DECK_VERSION}; build it again"
        )
    return deck

"""From drawn units to a deck: everything is put together in a staging folder, then moved file by file."""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from scenes.ledger import Clip
from scenes.theme import load_theme
from slides import twin
from slides.claims import title
from slides.script import notes
from slides.talk import Slide
from spanreel import paths
from spanreel.deck import DECK_FILE, DECK_VERSION, BuiltClip, BuiltSlide, Deck, Output
from spanreel.film import Chapter, Shot, write_film
from spanreel.holds import first_frames, hold_frames
from spanreel.plan import HEIGHTS_PX, Unit
from spanreel.units import SUMS_FILE, read_clip
from traces import TraceSet
from traces.storage import canonical_json, digest

FILM_FILE, PAGE_FILE, SHEET_FILE = "deck.mp4", "deck.html", "contact-sheet.png"
CLIPS_DIR, STILLS_DIR = "clips", "stills"
FORMAT_FILES = {"html": PAGE_FILE, "mp4": FILM_FILE, "png": SHEET_FILE}
"""The file that shows that a deck was made in a format."""
FILM_FORMATS = frozenset({"html", "mp4"})
"""The formats that need the clips as film; stills are enough for the others."""


@dataclass(frozen=True)
class Parts:
    """What a deck is made from."""

    trace_set: TraceSet
    slides: Sequence[Slide]
    units: Sequence[Unit]
    folders: Mapping[str, Path]
    """Folder of each drawn clip, by clip id."""
    quality: str
    theme_file: Path


class Assembly:
    """One deck in the making.

    Args:
        parts: What it is made from.
        folder: An empty staging folder.
    """

    def __init__(self, parts: Parts, folder: Path) -> None:
        self._parts = parts
        self._folder = folder
        self._clips: dict[str, Clip] = {unit.clip: read_clip(parts.folders[unit.clip]) for unit in parts.units}
        self._holds: dict[str, list[int]] = {}
        self._firsts: dict[str, list[int]] = {}

    def make(self, formats: Collection[str]) -> Deck:
        """Write every file and, last, the manifest.

        Args:
            formats: Some of ``html``, ``mp4`` and ``png``.

        Raises:
            SpanreelError: A part cannot be put in.
            TraceError: A title or a note cannot be filled.
        """
        for unit in self._parts.units:
            self._copy_unit(unit)
        if "mp4" in formats and self._clips:
            self._write_film()
        if "png" in formats and self._clips:
            self._write_stills()
        deck = self._deck()
        if "html" in formats:
            self._write_page(deck)
        deck = msgspec.structs.replace(deck, outputs=_outputs(self._folder))
        (self._folder / DECK_FILE).write_bytes(canonical_json(deck))
        return deck

    def _copy_unit(self, unit: Unit) -> None:
        """Copy a unit's ledger and pictures; its segments are in the film and in the page."""
        segments = {segment.file for segment in self._clips[unit.clip].segments}
        copy = self._folder / CLIPS_DIR / unit.clip
        copy.mkdir(parents=True)
        for file in sorted(self._parts.folders[unit.clip].iterdir()):
            if file.name not in segments and file.name != SUMS_FILE:
                shutil.copyfile(file, copy / file.name)

    def _write_film(self) -> None:
        clips = list(self._clips.values())
        self._holds = dict(zip(self._clips, hold_frames(clips), strict=True))
        self._firsts = dict(zip(self._clips, first_frames(clips, list(self._holds.values())), strict=True))
        shots, chapters = [], []
        for unit in self._parts.units:
            segments = zip(
                self._clips[unit.clip].segments, self._firsts[unit.clip], self._holds[unit.clip], strict=True
            )
            of_clip = [
                Shot(self._parts.folders[unit.clip] / segment.file, segment, first, hold)
                for segment, first, hold in segments
            ]
            shots += of_clip
            words = title(unit.slide, self._parts.trace_set).text
            chapters.append(Chapter(words, of_clip[0].first_frame, of_clip[-1].end_frame))
        header = self._parts.trace_set.header
        tags = {"title": f"{header.fingerprint.label}, {header.model.label}", "comment": f"trace set {header.name}"}
        write_film(shots, chapters, tags, clips[0].fps, self._folder / FILM_FILE)

    def _write_stills(self) -> None:
        from spanreel.stills import copy_stills, write_sheets

        pictures = [
            (unit.slide, [self._parts.folders[unit.clip] / pause.still for pause in self._clips[unit.clip].pauses])
            for unit in self._parts.units
        ]
        copies = copy_stills(pictures, self._folder / STILLS_DIR)
        background = load_theme(self._parts.theme_file).colour.background
        write_sheets(copies, background, self._folder / SHEET_FILE)

    def _write_page(self, deck: Deck) -> None:
        from spanreel.page import write_page

        recorded = twin.one_request(self._parts.trace_set)
        write_page(self._folder, deck, dict(self._parts.folders), recorded, self._folder / PAGE_FILE)

    def _deck(self) -> Deck:
        trace_set, theme = self._parts.trace_set, load_theme(self._parts.theme_file)
        height_px = HEIGHTS_PX[self._parts.quality]
        return Deck(
            deck_version=DECK_VERSION,
            set=trace_set.name,
            set_dir=_shown_path(trace_set.path),
            set_sha256=digest((trace_set.path / "set.json").read_bytes()),
            traces=trace_set.sha256,
            fps=theme.motion.fps,
            width_px=round(height_px * theme.page.width_px / theme.page.height_px),
            height_px=height_px,
            slides=[self._built_slide(slide) for slide in self._parts.slides],
            outputs=[],
        )

    def _built_slide(self, slide: Slide) -> BuiltSlide:
        claim = title(slide.id, self._parts.trace_set)
        return BuiltSlide(
            id=slide.id,
            part=slide.part,
            kind=slide.kind,
            title=claim.text,
            claim=claim.outcome,
            minutes=slide.minutes,
            notes=notes(slide.id, self._parts.trace_set),
            clip=self._built_clip(slide.clip) if slide.clip else None,
            demo=slide.demo,
        )

    def _built_clip(self, clip: str) -> BuiltClip:
        return BuiltClip(
            id=clip,
            unit_hash=self._clips[clip].unit_hash,
            folder=f"{CLIPS_DIR}/{clip}",
            clip_sha256=digest((self._folder / CLIPS_DIR / clip / "clip.json").read_bytes()),
            first_frames=self._firsts.get(clip, []),
            hold_frames=self._holds.get(clip, []),
        )


def install(staged: Path, folder: Path, deck: Deck) -> None:
    """Move a finished deck to its folder, the manifest last, and remove pictures that are no longer part of it."""
    for output in deck.outputs:
        target = folder / output.file
        target.parent.mkdir(parents=True, exist_ok=True)
        os.replace(staged / output.file, target)
    os.replace(staged / DECK_FILE, folder / DECK_FILE)
    listed = {folder / output.file for output in deck.outputs}
    for made in {file.relative_to(folder).parts[0] for file in listed if file.parent != folder}:
        for file in (folder / made).rglob("*"):
            if file.is_file() and file not in listed:
                file.unlink()
    shutil.rmtree(staged)


def _outputs(folder: Path) -> list[Output]:
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    return [
        Output(file.relative_to(folder).as_posix(), digest(file.read_bytes()), file.stat().st_size) for file in files
    ]


def _shown_path(path: Path) -> str:
    return path.relative_to(paths.ROOT).as_posix() if path.is_relative_to(paths.ROOT) else str(path)

"""A built deck held to its trace set: digests first, then every picture of the film."""

from __future__ import annotations

from pathlib import Path

import av

from scenes.ledger import Clip
from spanreel import paths
from spanreel.deck import BuiltClip, Deck, load_deck
from spanreel.errors import InputError
from spanreel.verify.clips import ClipCheck, ClipWatch
from spanreel.verify.faults import Fault
from spanreel.verify.figures import FigureReader
from spanreel.verify.film import shown_pictures
from spanreel.verify.hashes import clip_faults, embedded_faults, output_faults, read_clip, stale_faults
from spanreel.verify.ink import bar_colours
from spanreel.verify.report import Claims, Report
from spanreel.verify.titles import count_claims, title_faults
from traces import TraceMismatchError, TraceSet, load_set

FILM = "deck.mp4"
PAGE = "deck.html"


def verify_deck(folder: Path) -> Report:
    """Verify a built deck.

    Args:
        folder: The folder that holds ``deck.json``.

    Raises:
        InputError: There is no deck, it has no film, or the film cannot be decoded.
        TraceError: The trace set cannot be read.
    """
    deck = load_deck(folder)
    if not (folder / FILM).is_file():
        raise InputError(f"{folder} has no {FILM}; verify reads it, so build it with: spanreel build -f mp4 -f html")
    faults = [*output_faults(deck, folder)]
    built = [slide.clip for slide in deck.slides if slide.clip is not None]
    for clip in built:
        faults += clip_faults(clip, folder)
    pairs = [(clip, record) for clip in built if isinstance(record := read_clip(clip, folder), Clip)]
    faults += embedded_faults(folder / PAGE, [record for _, record in pairs])
    try:
        trace_set = load_set(paths.ROOT / deck.set_dir)
    except TraceMismatchError as error:
        return _report(deck, [*faults, Fault("hash", str(error), mark=deck.set)], [])
    faults += stale_faults(deck, trace_set)
    faults += [
        Fault("missing", f"{len(built.first_frames)} segments in the film", f"{len(clip.pauses)}", clip=clip.clip)
        for built, clip in pairs
        if not _is_filmed(built, clip)
    ]
    faults += title_faults(deck, [record for _, record in pairs], trace_set)
    checks = _watch(folder, pairs, trace_set)
    return _report(deck, faults + [fault for check in checks for fault in check.faults], checks)


def _watch(folder: Path, pairs: list[tuple[BuiltClip, Clip]], trace_set: TraceSet) -> list[ClipCheck]:
    """Decode the film once; each picture goes to the clip that it belongs to."""
    colours, reader = bar_colours(paths.THEME), FigureReader.of_the_film()
    watches = [
        (built.first_frames[0], ClipWatch(clip, folder / built.folder, built.first_frames, trace_set, colours, reader))
        for built, clip in pairs
        if _is_filmed(built, clip)
    ]
    watches.sort(key=lambda pair: pair[0])
    try:
        for shown in shown_pictures(folder / FILM, load_deck(folder).fps):
            started = [watch for first, watch in watches if first <= shown.last_frame]
            if started:
                started[-1].see(shown)
    except av.error.FFmpegError as error:
        raise InputError(f"{folder / FILM} cannot be decoded ({error}); build it again with: spanreel build") from error
    return [watch.finish() for _, watch in watches]


def _is_filmed(built: BuiltClip, clip: Clip) -> bool:
    return len(built.first_frames) == len(clip.segments) == len(clip.pauses) > 0


def _report(deck: Deck, faults: list[Fault], checks: list[ClipCheck]) -> Report:
    hold, countered = count_claims(deck)
    return Report(
        set=deck.set,
        clips=len(checks),
        bars=sum(check.bars for check in checks),
        bound=sum(check.bound for check in checks),
        markers=[marker for check in checks for marker in check.markers],
        max_px_error=round(max((check.max_error_px for check in checks), default=0.0), 3),
        max_frame_error=round(max((check.max_error_frames for check in checks), default=0.0), 3),
        texts=sum(check.texts for check in checks),
        text_faults=sum(check.text_faults for check in checks),
        claims=Claims(hold, countered),
        hashes_ok=all(fault.kind not in ("hash", "stale") for fault in faults),
        ok=not faults,
        faults=faults,
    )

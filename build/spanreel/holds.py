"""How long the film stays on a picture: as long as it takes to read what is new on it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from scenes.ledger import Clip, Pause

HOLD_MIN_S = 2.0
WORD_S = 0.35


def hold_frames(clips: Sequence[Clip]) -> list[list[int]]:
    """Return the hold after each segment's last frame, in frames, clip by clip in the film's order."""
    pauses = [pause for clip in clips for pause in clip.pauses]
    seconds = iter([max(HOLD_MIN_S, WORD_S * count) for count in _new_words(pauses)])
    return [[math.ceil(next(seconds) * clip.fps) for _ in clip.pauses] for clip in clips]


def _new_words(pauses: Sequence[Pause]) -> Iterator[int]:
    """Yield for each pause how many words it shows that the pause before did not."""
    before: set[str] = set()
    for pause in pauses:
        shown = {text.text for text in pause.texts}
        yield sum(len(_words(text)) for text in shown - before)
        before = shown


def _words(text: str) -> list[str]:
    """Return the words of a text; a bare number, such as on an axis, is looked at and not read."""
    return [word for word in text.split() if any(character.isalpha() for character in word)]


def first_frames(clips: Sequence[Clip], holds: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return the frame of the film at which each segment begins, clip by clip."""
    firsts, now = [], 0
    for clip, clip_holds in zip(clips, holds, strict=True):
        starts = [now]
        for segment, hold in zip(clip.segments, clip_holds, strict=True):
            starts.append(starts[-1] + segment.num_frames + hold)
        firsts.append(starts[:-1])
        now = starts[-1]
    return firsts

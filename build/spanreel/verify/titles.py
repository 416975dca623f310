"""Titles: each is a claim about the trace, and is made again from it."""

from __future__ import annotations

from collections.abc import Iterator

from scenes.ledger import Clip, Pause
from slides.claims import Title, title
from spanreel.deck import Deck
from spanreel.verify.faults import Fault
from traces import TraceError, TraceSet


def count_claims(deck: Deck) -> tuple[int, int]:
    """Return how many titles hold and how many are countered."""
    outcomes = [slide.claim for slide in deck.slides]
    return outcomes.count("holds"), outcomes.count("countered")


def title_faults(deck: Deck, clips: list[Clip], trace_set: TraceSet) -> Iterator[Fault]:
    """Compare titles, on the slides and in the pictures, with what the trace supports."""
    for slide in deck.slides:
        wanted = _title(slide.id, trace_set)
        if slide.title != wanted.text:
            yield Fault("claim", repr(slide.title), repr(wanted.text), mark=f"slide {slide.id}")
        if slide.claim != wanted.outcome:
            yield Fault("claim", slide.claim, wanted.outcome, mark=f"slide {slide.id}")
    for clip in clips:
        for pause in clip.pauses:
            for slide_id, shown in _shown_titles(pause).items():
                wanted = _title(slide_id, trace_set)
                if shown != wanted.text:
                    yield Fault("claim", repr(shown), repr(wanted.text), clip.clip, pause.name, f"title of {slide_id}")


def _title(slide_id: str, trace_set: TraceSet) -> Title:
    try:
        return title(slide_id, trace_set)
    except TraceError as error:
        return Title(f"no title: {error}", None)


def _shown_titles(pause: Pause) -> dict[str, str]:
    """Return the title that a picture shows of each slide, its lines joined."""
    lines: dict[str, list[str]] = {}
    for text in pause.texts:
        if text.claim:
            lines.setdefault(text.claim, []).append(text.text)
    return {slide_id: " ".join(parts) for slide_id, parts in lines.items()}

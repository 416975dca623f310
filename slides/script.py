"""What the speaker says at a slide, with the numbers of the trace filled in."""

from __future__ import annotations

from pathlib import Path

from slides.account import Account
from traces import TraceSet

NOTES_DIR = Path(__file__).with_name("notes")


def notes(slide_id: str, trace_set: TraceSet) -> str:
    """Return a slide's notes as Markdown; empty where there are none.

    Raises:
        TraceError: The set lacks what the notes quote.
        KeyError: The notes name a placeholder that does not exist.
    """
    file = NOTES_DIR / f"{slide_id}.md"
    if not file.is_file():
        return ""
    return file.read_text(encoding="utf-8").strip().format_map(Account(trace_set).words)

"""The HTML deck: one file that carries its films, stills, fonts and words, and needs nothing else."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from jinja2 import Environment, PackageLoader, StrictUndefined

from scenes.ledger import Clip, Source
from spanreel import paths
from spanreel.deck import BuiltSlide, Deck
from spanreel.errors import SpanreelError
from spanreel.page_marks import inspectable
from spanreel.page_media import Block, film_blocks, still_blocks
from spanreel.page_script import json_block, scripts, security_policy
from spanreel.page_style import font_css, player_css, shell_css, theme_css

_TEMPLATE = "deck.html.j2"


def write_page(
    deck_folder: Path, deck: Deck, clips: Mapping[str, Path], twin: Mapping[str, object], out_file: Path
) -> None:
    """Write the deck as one HTML file, whole or not at all.

    Args:
        deck_folder: Where the deck's files lie; a clip without a folder in ``clips`` is looked for there.
        deck: The slides, with titles and notes already filled from the trace.
        clips: Folder of each rendered clip (``clip.json``, segments, stills), by clip id.
        twin: The recorded twin of the demo ``one-request``.
        out_file: The file to write.

    Raises:
        EnvironmentLackError: An npm package or Pillow is missing.
        SpanreelError: A clip's folder cannot be read.
    """
    slides = [_slide(slide, deck_folder, clips) for slide in deck.slides]
    films = [block for slide in slides for block in slide["films"]]
    stills = [block for slide in slides for block in slide["stills"][1:]]
    inline_scripts = scripts()
    text = _environment().get_template(_TEMPLATE).render(
        title=deck.slides[0].title if deck.slides else deck.set,
        slides=slides,
        first_css=theme_css(paths.THEME) + shell_css() + player_css(),
        font_css=font_css(paths.THEME),
        policy=security_policy(inline_scripts),
        scripts=inline_scripts,
        data=json_block({"set": deck.set, "slides": [slide["data"] for slide in slides]}),
        twins={"one-request": json_block(twin)},
        blocks=stills + films,
    )  # fmt: skip
    staged = out_file.with_name(out_file.name + ".part")
    staged.write_text(text, encoding="utf-8", newline="\n")
    os.replace(staged, out_file)


def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("slides", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _slide(slide: BuiltSlide, deck_folder: Path, clips: Mapping[str, Path]) -> dict[str, Any]:
    """Return what the template and the player need of one slide."""
    stills: list[Block] = []
    films: list[Block] = []
    pauses: list[dict[str, Any]] = []
    if slide.clip is not None:
        folder = clips.get(slide.clip.id, deck_folder / slide.clip.folder)
        clip = _read_clip(folder)
        stills, films = still_blocks(clip, folder), film_blocks(clip, folder)
        pauses = _pauses(clip, stills, films)
    data = {
        "id": slide.id,
        "title": slide.title,
        "part": slide.part,
        "kind": slide.kind,
        "minutes": slide.minutes,
        "notes": slide.notes,
        "pauses": pauses,
    }
    return {"id": slide.id, "title": slide.title, "demo": slide.demo, "stills": stills, "films": films, "data": data}


def _pauses(clip: Clip, stills: list[Block], films: list[Block]) -> list[dict[str, Any]]:
    sources: dict[str, Source] = {source.key: source for source in clip.sources}
    return [
        {
            "name": pause.name,
            "alt": pause.alt,
            "notes": pause.notes,
            "caption": clip.segments[index].caption if films else "",
            "still": stills[index].name,
            "film": films[index].name if films and clip.segments[index].num_frames > 1 else None,
            "marks": inspectable(pause, sources),
        }
        for index, pause in enumerate(clip.pauses)
    ]


def _read_clip(folder: Path) -> Clip:
    file = folder / "clip.json"
    try:
        return msgspec.json.decode(file.read_bytes(), type=Clip)
    except (OSError, msgspec.DecodeError) as error:
        raise SpanreelError(f"{file}: {error}; build the deck again with: spanreel build") from error

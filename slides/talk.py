"""The talk as data: its recorded set, and its slides in order."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast, get_args

TALK_FILE = Path(__file__).with_name("talk.toml")
TITLE_MAX_CHARS = 95

Kind = Literal["clip", "demo", "still", "text"]

_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_MINUTES = re.compile(r"(\d+):([0-5]\d)")
_QUESTIONS = 3


class TalkError(ValueError):
    """The talk's file does not describe a talk; the message names the slide and the field."""


@dataclass(frozen=True)
class Slide:
    """One slide of the talk."""

    id: str
    part: str
    kind: Kind
    minutes: float
    """How long it may take."""
    question: int
    """Which of the talk's three questions it answers: 0, 1 or 2."""
    title: str | None = None
    """A title without numbers; None where the title is a claim about the trace."""
    clip: str | None = None
    """Id of the clip that a clip slide shows."""
    demo: str | None = None
    """Name of the demo that a demo slide runs."""
    experiments: tuple[str, ...] = ()
    """Ids of the experiments that the slide is drawn from."""
    titles: tuple[str, ...] = ()
    """Ids of the slides whose titles its clip shows."""


@dataclass(frozen=True)
class Talk:
    """The whole talk."""

    set: str
    """Name of the trace set that the talk is built from unless another is asked for."""
    slides: tuple[Slide, ...]


def load_talk(file: Path = TALK_FILE) -> Talk:
    """Read the talk and check every slide.

    Raises:
        TalkError: The file cannot be read, or a field is missing, unknown or out of range.
    """
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise TalkError(f"{file}: {error}") from error
    slides = tuple(_slide(file, entry) for entry in table.get("slide", []))
    ids = [slide.id for slide in slides]
    if not isinstance(table.get("set"), str) or not slides:
        raise TalkError(f"{file}: a talk has a set and at least one slide")
    if repeated := {slide_id for slide_id in ids if ids.count(slide_id) > 1}:
        raise TalkError(f"{file}: two slides are called {min(repeated)!r}")
    if unknown := {name for slide in slides for name in slide.titles} - set(ids):
        raise TalkError(f"{file}: a clip shows the title of {min(unknown)!r}, which is no slide")
    return Talk(table["set"], slides)


def _slide(file: Path, entry: dict[str, Any]) -> Slide:
    where = f"{file}: slide {entry.get('id', '?')!r}"
    try:
        lists = {name: tuple(entry.get(name, ())) for name in ("experiments", "titles")}
        slide = Slide(**(entry | lists | {"minutes": _minutes(entry["minutes"])}))
    except KeyError as error:
        raise TalkError(f"{where} has no field {error}") from error
    except TypeError as error:
        raise TalkError(f"{where}: {error}") from error
    if fault := _fault(slide):
        raise TalkError(f"{where}: {fault}")
    return slide


def _minutes(written: Any) -> float:
    found = _MINUTES.fullmatch(str(written))
    return int(found[1]) + int(found[2]) / 60 if found else 0.0


def _fault(slide: Slide) -> str | None:
    """Return what is wrong with a slide, if anything is."""
    if not _NAME.fullmatch(slide.id):
        return "an id is lower-case words joined by hyphens"
    if slide.kind not in get_args(Kind):
        return f"kind {slide.kind!r} is none of {', '.join(get_args(Kind))}"
    for kind in ("clip", "demo"):
        if (cast("str | None", getattr(slide, kind)) is not None) != (slide.kind == kind):
            return f"a {kind} slide, and no other, has the field {kind!r}"
    if slide.minutes <= 0:
        return "minutes are written m:ss and more than nothing"
    if slide.question not in range(_QUESTIONS):
        return f"question {slide.question!r} is not 0, 1 or 2"
    if slide.title is not None and len(slide.title) > TITLE_MAX_CHARS:
        return f"its title has {len(slide.title)} characters, {TITLE_MAX_CHARS} fit"
    return None

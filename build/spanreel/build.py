"""A build from order to deck."""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from slides.talk import Slide
from spanreel import paths
from spanreel.assemble import FILM_FORMATS, FORMAT_FILES, Assembly, Parts, install
from spanreel.deck import Deck, load_deck
from spanreel.errors import InputError
from spanreel.lock import WAIT_S, sole_build
from spanreel.plan import Look, Mode, Unit, drawable, npm_version, plan_units, python_version, the_talk
from spanreel.render import RENDERER, Renderer
from spanreel.report import Report
from spanreel.sources import digest_files
from spanreel.units import UnitCache
from traces import TraceSet, load_set
from traces.storage import canonical_json, digest

DEFAULT_FORMATS = ("html", "mp4")

_INPUTS_FILE = ".inputs"
_STAGING_DIR = ".staging"
_ASSEMBLERS = ("av", "pillow", "jinja2")


def num_cores() -> int:
    """Return how many processes may draw at once unless another number is asked for."""
    return os.cpu_count() or 1


@dataclass(frozen=True)
class Order:
    """What to build, and where."""

    set_dir: Path
    formats: tuple[str, ...] = DEFAULT_FORMATS
    quality: str = "hd"
    out_dir: Path | None = None
    only: str | None = None
    """Build the slide of this clip alone."""
    num_jobs: int = field(default_factory=num_cores)
    cache_dir: Path = paths.CACHE
    theme_file: Path = paths.THEME
    renderer: Sequence[str] = RENDERER
    lock_wait_s: float = WAIT_S

    def look(self, mode: Mode) -> Look:
        """Return how its pictures are drawn."""
        return Look(self.quality, mode, self.theme_file)


@dataclass(frozen=True)
class Built:
    """A deck that is there."""

    folder: Path
    deck: Deck
    unchanged: bool
    """It was there before, made from the same inputs."""


def build(order: Order, report: Report) -> Built:
    """Build a deck. What stood in its folder stays whole until every new file is ready.

    Raises:
        SpanreelError: The deck cannot be built; the class carries the exit code.
        TraceError: The set cannot be read.
    """
    trace_set = load_set(order.set_dir)
    slides, left_out = drawable(the_talk(), trace_set)
    for line in left_out:
        report.say(line)
    slides = _chosen(slides, order.only)
    folder = (order.out_dir or _usual_folder(trace_set, order.only)).absolute()
    cache = UnitCache(order.cache_dir)
    with sole_build(folder, order.lock_wait_s):
        formats, units = _settle(order, slides, trace_set, cache, folder)
        inputs = _inputs(order, formats, units)
        if (deck := _current(folder, inputs)) is not None:
            return Built(folder, deck, unchanged=True)
        folders = Renderer(cache, report, order.renderer).folders(units, order.num_jobs)
        deck = _assemble(Parts(trace_set, slides, units, folders, order.quality, order.theme_file), formats, folder)
        (folder / _INPUTS_FILE).write_text(inputs, encoding="ascii")
    return Built(folder, deck, unchanged=False)


def _settle(
    order: Order, slides: list[Slide], trace_set: TraceSet, cache: UnitCache, folder: Path
) -> tuple[set[str], list[Unit]]:
    """Return the formats to make, and the units they need.

    What stands in the folder already is made again, so that its files belong together; but stills alone are not kept
    waiting for a film that would have to be drawn first.
    """
    formats = set(order.formats)
    together = formats | _standing_formats(folder)
    film = plan_units(slides, trace_set, order.look("film"))
    if formats & FILM_FORMATS or (together & FILM_FORMATS and all(cache.has(unit.hash) for unit in film)):
        return together, film
    return formats, plan_units(slides, trace_set, order.look("stills"))


def _standing_formats(folder: Path) -> set[str]:
    """Return the formats that the deck in a folder was made in."""
    try:
        files = {output.file for output in load_deck(folder).outputs}
    except InputError:
        return set()
    return {name for name, file in FORMAT_FILES.items() if file in files}


def _chosen(slides: list[Slide], only: str | None) -> list[Slide]:
    chosen = [slide for slide in slides if only is None or slide.clip == only]
    if not chosen:
        clips = ", ".join(slide.clip for slide in slides if slide.clip) or "none"
        raise InputError(
            f"no clip {only!r} can be built from this set; clips: {clips}" if only else "no slide can be built"
        )
    return chosen


def _usual_folder(trace_set: TraceSet, only: str | None) -> Path:
    return paths.OUT / (f"{trace_set.name}-only-{only}" if only else trace_set.name)


def _assemble(parts: Parts, formats: Collection[str], folder: Path) -> Deck:
    staged = folder / _STAGING_DIR
    shutil.rmtree(staged, ignore_errors=True)
    staged.mkdir()
    try:
        deck = Assembly(parts, staged).make(formats)
        (folder / _INPUTS_FILE).unlink(missing_ok=True)
        install(staged, folder, deck)
    finally:
        shutil.rmtree(staged, ignore_errors=True)
    return deck


def _inputs(order: Order, formats: Collection[str], units: list[Unit]) -> str:
    """Return one digest over everything that the deck's files depend on."""
    own = [*(paths.ROOT / "slides").rglob("*"), *(paths.ROOT / "build" / "spanreel").glob("*.py")]
    files = sorted(file for file in own if file.is_file() and "__pycache__" not in file.parts)
    inputs = {
        "units": {unit.clip: unit.hash for unit in units},
        "set": digest((order.set_dir / "set.json").read_bytes()),
        "set_dir": str(order.set_dir),
        "formats": sorted(formats),
        "sources": digest_files(files),
        "python": {name: python_version(name) for name in _ASSEMBLERS},
        "npm": npm_version("reveal.js"),
    }
    return digest(canonical_json(inputs))


def _current(folder: Path, inputs: str) -> Deck | None:
    """Return the deck in a folder if it was made from these inputs and every file is as it was written."""
    try:
        if (folder / _INPUTS_FILE).read_text(encoding="ascii") != inputs:
            return None
        deck = load_deck(folder)
        whole = all(digest((folder / output.file).read_bytes()) == output.sha256 for output in deck.outputs)
    except (OSError, InputError):
        return None
    return deck if whole else None

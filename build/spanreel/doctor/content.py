"""Examinations of what the pictures are made from: fonts, their glyphs, and the recorded set."""

from __future__ import annotations

import string
from pathlib import Path

from spanreel import paths
from spanreel.doctor.finding import Finding
from spanreel.errors import InputError
from traces import TraceError, TraceSet, load_set
from traces.wording import MINUS, THIN_SPACE

_DRAWN = string.ascii_letters + string.digits + string.punctuation + MINUS + THIN_SPACE + "×–→≤≥≈µ…·"
"""What every picture may show, whatever the trace says."""


def fonts(node_modules: Path) -> Finding:
    """Examine the files of the typefaces."""
    try:
        from scenes.render.fonts import SOURCES
    except ImportError as error:
        return _not_examined("fonts", error)
    found = tuple(Path(file).name for file in SOURCES.values() if (node_modules / file).is_file())
    lack = tuple(file for file in SOURCES.values() if not (node_modules / file).is_file())
    return Finding("fonts", "deck", found, lack, "make deck")


def glyphs(node_modules: Path, trace_set: TraceSet | None) -> Finding:
    """Examine the typefaces for every character that the pictures show, those of the set's labels included."""
    try:
        from fontTools.ttLib import TTFont

        from scenes.render.fonts import SOURCES
    except ImportError as error:
        return _not_examined("glyphs", error)
    wanted = dict.fromkeys(_DRAWN + "".join(_labels(trace_set) if trace_set else ()))
    faces = [node_modules / source for (font, _), source in SOURCES.items() if font == "text"]
    lack = []
    for file in filter(Path.is_file, faces):
        with TTFont(file, lazy=True) as face:
            has = face.getBestCmap()
        lack += [f"{one!r} (U+{ord(one):04X}) in {file.name}" for one in wanted if ord(one) not in has]
    found = () if lack else (f"{len(wanted)} characters in each weight",)
    return Finding("glyphs", "deck", found, tuple(lack), "spanreel profile")


def recorded_set() -> tuple[Finding, TraceSet | None]:
    """Examine the set that the talk is built from, and return it when it is sound."""
    try:
        trace_set = load_set(paths.set_dir(None))
    except (InputError, TraceError) as error:
        return Finding("recorded set", "deck", (), (str(error),), "spanreel profile"), None
    label = f"{trace_set.name} ({trace_set.header.fingerprint.label}, {trace_set.header.model.label})"
    return Finding("recorded set", "deck", (label,), (), "spanreel profile"), trace_set


def _labels(trace_set: TraceSet) -> list[str]:
    arms = [arm for experiment in trace_set.experiments.values() for arm in experiment.arms]
    header = trace_set.header
    return [header.fingerprint.label, header.model.label, *(arm.label + arm.exemplar.rule for arm in arms)]


def _not_examined(name: str, error: ImportError) -> Finding:
    return Finding(name, "deck", (), (f"not examined without the Python package {error.name}",), "make deck")

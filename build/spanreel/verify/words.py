"""The texts of a picture: each says what the trace says, and can be read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations

from scenes.ledger import Axis, Clip, Pause, Text
from spanreel.verify.axes import tick_of
from spanreel.verify.faults import Fault
from spanreel.verify.rows import fit_of_ledger
from spanreel.verify.subjects import Subjects, fill
from traces import TraceError, TraceSet
from traces.wording import FORMATS

LEFT_PX, RIGHT_PX, BOTTOM_PX = 96.0, 1824.0, 1080.0
SIZE_MIN_PX = 36.0
CONTRAST_MIN = 4.5
_BEARING_PX = 8.0
"""How far the ink of a letter may reach beyond its pen position."""
_NUMBER = re.compile(r"(?<![A-Za-z\d])\d[\d.\u2009]*")
_REPLAY = re.compile(r"real time, ×1|×\d+ speed|1/\d+ speed")
_FORMULA = "N − 1"


def label_faults(pause: Pause, clip: Clip, subjects: Subjects, trace_set: TraceSet) -> Iterator[Fault]:
    """Find texts that do not say what the trace says, and numbers that nothing measures."""
    for text in pause.texts:
        if text.claim:
            continue
        try:
            wanted = fill(text.template, text.values, subjects)
        except TraceError as error:
            yield Fault("label", str(error), mark=text.id)
            continue
        if text.text != wanted:
            yield Fault("label", f"says {text.text!r}", repr(wanted), mark=text.id)
        if tick_of(text, pause.axes) is None:
            typed = _typed_numbers(text, _known_words(pause, clip, subjects, trace_set))
            if typed:
                yield Fault(
                    "label", f"{typed[0]!r} in {text.text!r} is bound to nothing", "a measurement", mark=text.id
                )


def layout_faults(pause: Pause) -> Iterator[Fault]:
    """Find texts that are too small, too faint, off the page, or on top of one another."""
    for text in pause.texts:
        x0, y0, x1, y1 = text.box_px
        right_px = RIGHT_PX + (x1 - x0 if tick_of(text, pause.axes) else 0)
        if x0 < LEFT_PX - _BEARING_PX or x1 > right_px + _BEARING_PX or y0 < 0 or y1 > BOTTOM_PX:
            yield Fault("text", f"its ink spans x {x0:.0f}–{x1:.0f}, y {y0:.0f}–{y1:.0f}", "the page", mark=text.id)
        if text.size_px < SIZE_MIN_PX:
            yield Fault("text", f"{text.size_px:g} px", f"{SIZE_MIN_PX:g} px at least", mark=text.id)
        if (ratio := contrast(text.colour, text.behind)) < CONTRAST_MIN:
            yield Fault("text", f"contrast {ratio:.1f}", f"{CONTRAST_MIN:g} at least", mark=text.id)
    for first, second in combinations(pause.texts, 2):
        if _overlap(first, second):
            yield Fault("text", f"{first.text!r} lies on {second.text!r}", "texts apart", mark=first.id)


def contrast(colour: str, behind: str) -> float:
    """Return the contrast ratio of two ``#rrggbb`` colours as WCAG 2 defines it."""
    bright, dark = sorted((_luminance(colour), _luminance(behind)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    channels = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _overlap(first: Text, second: Text) -> bool:
    a, b = first.box_px, second.box_px
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _typed_numbers(text: Text, known: list[str]) -> list[str]:
    """Return numbers in the fixed part of a template that no known word explains."""
    fixed = re.sub(r"\{\d+\}", " ", text.template).replace("{{", "{").replace("}}", "}")
    for word in known:
        fixed = fixed.replace(word, " ")
    found: list[str] = _NUMBER.findall(fixed)
    return [number for number in found if number.strip("0.")]


def _known_words(pause: Pause, clip: Clip, subjects: Subjects, trace_set: TraceSet) -> list[str]:
    """Return words with numbers that state no measurement: names, hashes, sample sizes, factors that are checked."""
    words = [trace_set.header.fingerprint.label, trace_set.header.model.label, _FORMULA]
    for source in clip.sources:
        words.append(source.sha256[:8])
    for subject in subjects.values():
        number = "".join(c for c in subject.request.id if c.isdigit())
        words += [subject.arm.exemplar.rule, subject.arm.label, f"n={len(subject.sample_ns)}", number[-2:] or "1"]
    for axis in pause.axes:
        if axis.kind == "lens":
            words += [FORMATS["factor"](axis.factor), FORMATS["stage"](_window_ns(axis))]
    words += [text.text for text in pause.texts if is_replay_factor(text.text)]
    return sorted((word for word in words if word), key=len, reverse=True)


def is_replay_factor(text: str) -> bool:
    """Whether a text states how fast the trace is replayed; the motion is held to it."""
    return _REPLAY.fullmatch(text) is not None


def _window_ns(axis: Axis) -> float:
    return (axis.x1_px - axis.x0_px) / fit_of_ledger(axis).px_per_ns

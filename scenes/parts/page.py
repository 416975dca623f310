"""What every page carries: title, footer with provenance, and our request's packet."""

from __future__ import annotations

from collections.abc import Sequence

from manim import Mobject

from scenes.parts.lettering import Lettering, centred, middle_of
from scenes.render.labels import Label
from scenes.render.metrics import TextStyle, measure
from scenes.render.scene import group
from scenes.render.shapes import Box
from scenes.theme import Theme
from traces import TraceSet
from traces.bindings import Subject

QUESTIONS = ("What happens", "What slows it down", "What helps, at what cost")
"""What the talk asks at each stage; one is active on a page."""

PACKET_PX = 64.0
_UNSTABLE = "UNSTABLE"
_DOT_PX, _DOT_CLEAR_PX = 6.0, 14.0
_SEGMENT_PX, _SEGMENT_HEIGHT_PX, _SEGMENT_GAP_PX, _SEGMENT_CLEAR_PX = 32.0, 8.0, 8.0, 24.0


def title(theme: Theme, slide_id: str, text: str) -> Mobject:
    """Return a slide's title on one line, or broken into two lines of even length."""
    style = Lettering(theme).title
    lines = break_title(text, style, theme.page.right_px - theme.page.left_px)
    baselines = (theme.page.title_baseline_px, theme.page.title_second_baseline_px)
    return group(*(
        Label(line, theme.page.left_px, baseline, style, text_id=f"title-{slide_id}-{index}", claim=slide_id)
        for index, (line, baseline) in enumerate(zip(lines, baselines, strict=False))
    ))  # fmt: skip


def break_title(text: str, style: TextStyle, width_px: float) -> list[str]:
    """Return one line if it fits, else the two lines whose longer one is shortest, breaking after a sentence first."""
    if measure([(text, style)]).width_px <= width_px:
        return [text]
    words = text.split(" ")
    breaks = [(" ".join(words[:i]), " ".join(words[i:])) for i in range(1, len(words))]
    widths: dict[tuple[str, str], float] = {
        pair: max(measure([(line, style)]).width_px for line in pair) for pair in breaks
    }
    fitting = [pair for pair in breaks if widths[pair] <= width_px]
    if not fitting:
        raise ValueError(f"title {text!r} does not fit two lines; shorten it")
    after_sentence = [pair for pair in fitting if pair[0].endswith((".", ":", "?"))]
    best = min(after_sentence or fitting, key=lambda pair: widths[pair])
    return list(best)


def footer(theme: Theme, trace_set: TraceSet, subject: Subject, question: int) -> Mobject:
    """Return the footer: evidence class, machine, model, n and trace hash; at the right, the active question.

    A measurement whose odd and even runs disagree is stamped where its class stands.
    """
    parts = [
        _UNSTABLE if subject.is_unstable else "MEASURED",
        trace_set.header.fingerprint.label,
        trace_set.header.model.label,
        f"n={len(subject.sample_ns)}",
        f"trace {trace_set.short_hash(subject.experiment.id)}",
    ]
    return group(*_provenance(theme, parts), *_question(theme, question))


def packet(theme: Theme, subject: Subject, y0: float) -> Mobject:
    """Return our request's packet at the head of a bar that is 64 px high."""
    digits = "".join(character for character in subject.request.id if character.isdigit())
    number = digits[-2:] or "1"
    right = theme.page.plot_x0_px - 32.0
    style = TextStyle("text", theme.size.label_px, 700, theme.colour.ink)
    client = theme.role["client"]
    return group(
        Box(right - PACKET_PX, y0, right, y0 + PACKET_PX, client, radius=16, outline=theme.colour.white, outline_px=5),
        Label(number, right - PACKET_PX / 2, centred(y0 + PACKET_PX / 2, style.size_px), style, "middle",
              text_id="packet", behind=client),
    )  # fmt: skip


def _provenance(theme: Theme, parts: Sequence[str]) -> list[Mobject]:
    baseline = theme.page.footer_baseline_px
    stamp = theme.role["alert"] if parts[0] == _UNSTABLE else theme.colour.secondary
    styles = [TextStyle("mono", theme.size.small_px, 700, stamp)]
    styles += [TextStyle("mono", theme.size.small_px, 400, theme.colour.muted)] * (len(parts) - 1)
    middle = middle_of(baseline, theme.size.small_px)
    x = float(theme.page.left_px)
    drawn: list[Mobject] = []
    for index, (part, style) in enumerate(zip(parts, styles, strict=True)):
        if index:
            x += _DOT_CLEAR_PX
            drawn.append(
                Box(x, middle - _DOT_PX / 2, x + _DOT_PX, middle + _DOT_PX / 2, theme.colour.muted, radius=_DOT_PX / 2)
            )
            x += _DOT_PX + _DOT_CLEAR_PX
        label = Label(part, x, baseline, style, text_id=f"provenance-{index}")
        drawn.append(label)
        x += label.width_px
    return drawn


def _question(theme: Theme, active: int) -> list[Mobject]:
    style = TextStyle("text", theme.size.small_px, 600, theme.colour.text)
    baseline = theme.page.footer_baseline_px
    label = Label(QUESTIONS[active], theme.page.right_px, baseline, style, "end", text_id="question")
    middle = middle_of(baseline, theme.size.small_px)
    x = theme.page.right_px - label.width_px - _SEGMENT_CLEAR_PX - 3 * _SEGMENT_PX - 2 * _SEGMENT_GAP_PX
    drawn: list[Mobject] = [label]
    for index in range(len(QUESTIONS)):
        colour = theme.colour.text if index == active else theme.colour.grid
        left = x + index * (_SEGMENT_PX + _SEGMENT_GAP_PX)
        top = middle - _SEGMENT_HEIGHT_PX / 2
        drawn.append(Box(left, top, left + _SEGMENT_PX, top + _SEGMENT_HEIGHT_PX, colour, radius=2))
    return drawn

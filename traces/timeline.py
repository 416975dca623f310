"""A request as lines of text: one lane a component, to scale, in cells of equal time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from traces.bindings import Subject
from traces.metrics import e2e_ns, ttft_ns
from traces.schema import COMPONENTS, Kind
from traces.spans import Span
from traces.wording import stage, total

CARET = "^"
"""What is there, but covers less than half of its cell."""
GLYPHS: dict[Kind, str] = {"cpu": "█", "gpu": "█", "network": "▒", "wait": "░"}

_BLANK = " "
_CELLS_BETWEEN_TICKS = 10
_LABELLED_CARETS = 3
"""A lane with more carets than this shows their sum only, at its end."""


@dataclass(frozen=True, slots=True)
class Lane:
    """One component's row."""

    component: str
    cells: str
    sum_ns: int


@dataclass(frozen=True, slots=True)
class Timeline:
    """Rows of equal length; a cell stands for ``cell_ns``, the first one begins at the intended start."""

    tick_labels: str
    ruler: str
    first_token: str
    """Where the first token was received; blank if none was."""
    lanes: list[Lane]
    cell_ns: float


def timeline(subject: Subject, num_cells: int) -> Timeline:
    """Draw a request; components without a span have no lane.

    Args:
        subject: The request; its path is not empty.
        num_cells: How many cells the end-to-end time fills.
    """
    end_ns = e2e_ns(subject.path)
    lanes = []
    for component in COMPONENTS:
        spans = [span for span in subject.path if span.component == component]
        if spans:
            lanes.append(Lane(component, _lane(spans, end_ns, num_cells), sum(span.duration_ns for span in spans)))
    tick_labels, ruler = _axis(end_ns, num_cells)
    return Timeline(tick_labels, ruler, _first_token(subject, end_ns, num_cells), lanes, end_ns / num_cells)


def _lane(spans: Iterable[Span], end_ns: int, num_cells: int) -> str:
    covered: list[dict[Kind, float]] = [{} for _ in range(num_cells)]
    for span in spans:
        for index, part_ns in _parts(span, end_ns, num_cells):
            covered[index][span.kind] = covered[index].get(span.kind, 0) + part_ns
    half_ns = end_ns / num_cells / 2
    cells = [
        GLYPHS[max(kinds, key=lambda kind: kinds[kind])] if sum(kinds.values()) >= half_ns else _BLANK
        for kinds in covered
    ]
    carets = [
        index for index, kinds in enumerate(covered) if kinds and set(cells[max(0, index - 1) : index + 2]) == {_BLANK}
    ]
    for index in carets:
        cells[index] = CARET
    if len(carets) <= _LABELLED_CARETS:
        for index in carets:
            _write_beside(cells, index, stage(sum(covered[index].values())))
    return "".join(cells)


def _parts(span: Span, end_ns: int, num_cells: int) -> Iterable[tuple[int, float]]:
    """Yield each cell that the span covers, and how much of it in ns; a span below a cell counts where its middle is.

    Integers until the end, so that edges are exact.
    """
    start, end = span.start_ns * num_cells, span.end_ns * num_cells
    if end - start < end_ns:
        yield (start + end) // (2 * end_ns), span.duration_ns
        return
    for index in range(start // end_ns, -(-end // end_ns)):
        yield index, (min(end, (index + 1) * end_ns) - max(start, index * end_ns)) / num_cells


def _write_beside(cells: list[str], index: int, words: str) -> None:
    """Write words to the right of a cell, else to its left, else nowhere."""
    for start, text in ((index + 1, f" {words}"), (index - len(words) - 1, f"{words} ")):
        place = slice(start, start + len(text))
        if start >= 0 and cells[place] == [_BLANK] * len(text):
            cells[place] = text
            return


def _first_token(subject: Subject, end_ns: int, num_cells: int) -> str:
    cells = [_BLANK] * num_cells
    if subject.request.num_output_tokens:
        received_ns = ttft_ns(subject.request)
        index = min(received_ns * num_cells // end_ns, num_cells - 1)
        cells[index] = CARET
        _write_beside(cells, index, total(received_ns))
    return "".join(cells)


def _axis(end_ns: int, num_cells: int) -> tuple[str, str]:
    """Return the ticks' labels, of which the first is zero, and the line below them."""
    step_ns = _tick_step_ns(end_ns / num_cells * _CELLS_BETWEEN_TICKS)
    ticks = range(0, end_ns, step_ns)
    ruler = ["─"] * num_cells
    labels = [_BLANK] * num_cells
    for tick_ns, text in zip(ticks, _tick_labels(ticks, step_ns), strict=True):
        index = tick_ns * num_cells // end_ns
        ruler[index] = "┬"
        if index + len(text) <= num_cells:
            labels[index : index + len(text)] = text
    return "".join(labels), "".join(ruler)


def _tick_step_ns(least_ns: float) -> int:
    """Return the smallest of 1, 2, 5 times a power of ten that is not less."""
    power: int = 10 ** max(0, math.floor(math.log10(max(least_ns, 1))))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= least_ns)


def _tick_labels(ticks: Sequence[int], step_ns: int) -> list[str]:
    unit, unit_ns = next((unit, size) for unit, size in (("s", 10**9), ("ms", 10**6), ("µs", 10**3), ("ns", 1))
                         if step_ns * 10 >= size)  # fmt: skip
    decimals = 0 if step_ns >= unit_ns else 1
    return ["0", *(f"{tick_ns / unit_ns:.{decimals}f} {unit}" for tick_ns in ticks[1:])]

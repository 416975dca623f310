"""What inspect mode knows of a still: the spans and metrics whose marks stand in it, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scenes.ledger import Mark, Pause, Source
from traces.storage import SHORT_HASH_CHARS
from traces.wording import stage, total

_METRICS = {
    "e2e": "end to end",
    "ttft": "time to first token",
    "after_first": "after the first token",
    "tpot": "time per output token",
}
_SUMS = ("stages", "names", "extent")


def inspectable(pause: Pause, sources: Mapping[str, Source]) -> list[dict[str, Any]]:
    """Return what can be walked to in a still, in the order of time.

    A measurement that several marks show (a bar and the same bar in a lens) is one stop, at its largest mark.
    """
    largest: dict[tuple[str, str], Mark] = {}
    for mark in pause.marks:
        if mark.kind == "separator":
            continue
        key = (mark.source, mark.binding)
        if key not in largest or _rank(mark) > _rank(largest[key]):
            largest[key] = mark
    marks = sorted(largest.values(), key=lambda mark: (mark.start_ns, -mark.duration_ns, mark.y0_px))
    return [_stop(mark, sources[mark.source]) for mark in marks]


def spoken_name(binding: str) -> str:
    """Return what a binding stands for, in a reader's words: ``r7/prefill/0`` is ``prefill``."""
    _, _, rest = binding.partition("/")
    kind, _, argument = rest.partition("/")
    if kind in _METRICS:
        return _METRICS[kind]
    if kind in _SUMS:
        return " + ".join(argument.split("+"))
    if kind == "token":
        return f"token {int(argument) + 1} received"
    if kind in ("before", "mean"):
        return f"{kind} {argument}"
    return kind


def _rank(mark: Mark) -> tuple[bool, float]:
    return mark.readable, mark.x1_px - mark.x0_px


def _stop(mark: Mark, source: Source) -> dict[str, Any]:
    written = stage if mark.binding.count("/") > 1 else total
    end_ns = mark.start_ns + mark.duration_ns
    return {
        "name": spoken_name(mark.binding),
        "value": written(mark.duration_ns) if mark.duration_ns else total(end_ns),
        "time": f"from {total(mark.start_ns)} to {total(end_ns)}" if mark.duration_ns else f"at {total(end_ns)}",
        "trace": f"trace {source.sha256[:SHORT_HASH_CHARS]}",
        "where": f"{source.experiment} {source.arm} · run {source.run} · {mark.binding}",
        "box": [round(edge, 2) for edge in (mark.x0_px, mark.y0_px, mark.x1_px, mark.y1_px)],
    }

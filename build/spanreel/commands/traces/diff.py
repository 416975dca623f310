"""``spanreel traces diff``: two sets as a table for a terminal, a document or a program."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import click
import msgspec

from spanreel import paths
from spanreel.commands.traces.listing import heading
from traces import TraceSet, load_set
from traces.comparison import UNITS, Comparison, Estimate, Row, Unit, compare
from traces.wording import per_token, stage, total

_SHOWN_DIFFERENCES = 12
_SHOWN_CHARS = 48
_LEGEND = (
    "Median (95 % bootstrap interval) of n finished requests, of the throughput n runs. "
    "Of rows that did not change, up to 1 in 20 is called slower or faster."
)


@click.command("diff")
@click.argument("first", metavar="SET")
@click.argument("second", metavar="SET")
@click.option("--markdown", is_flag=True, help="Print a Markdown table.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def diff_sets(first: str, second: str, markdown: bool, as_json: bool) -> None:
    """Compare two sets: each time with its median and 95 % interval, and whether the change is more than noise."""
    sets = (load_set(paths.set_dir(first)), load_set(paths.set_dir(second)))
    comparison = compare(*sets)
    if as_json:
        names = {"first": heading(sets[0]), "second": heading(sets[1])}
        click.echo(json.dumps(names | msgspec.to_builtins(comparison) | {"ok": True}))
        return
    bullet = "- " if markdown else ""
    for line in _preface(sets, comparison):
        click.echo(bullet + line)
    click.echo()
    if not comparison.rows:
        click.echo("the sets have no measured arm in common")
        return
    head = ["arm", "metric", f"1: {sets[0].name}", f"2: {sets[1].name}", "n", "2 / 1", "2 is"]
    cells = [head, *(_cells(row) for row in comparison.rows)]
    for line in _markdown(cells) if markdown else _aligned(cells):
        click.echo(line)
    click.echo(f"\n{_LEGEND}")


def _preface(sets: Sequence[TraceSet], comparison: Comparison) -> Iterator[str]:
    """Yield what ran where, what differs there, and what keeps the rows from comparing like with like."""
    for index, trace_set in enumerate(sets, start=1):
        yield "{index}: {name} ({machine}, {model}, {recorded})".format(index=index, **heading(trace_set))
    for difference in comparison.differences[:_SHOWN_DIFFERENCES]:
        yield f"{difference.field}: {_short(difference.first)} | {_short(difference.second)}"
    hidden = len(comparison.differences) - _SHOWN_DIFFERENCES
    if hidden > 0:
        yield f"{hidden} more facts of the machine or the engine differ; all with --json"
    yield from comparison.notes
    for index, missing in enumerate((comparison.only_first, comparison.only_second), start=1):
        if missing:
            yield f"only in {index}: {', '.join(missing)}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN_CHARS else text[: _SHOWN_CHARS - 1] + "…"


def _cells(row: Row) -> list[str]:
    words = _FORMATS[UNITS[row.metric]]
    ratio = "–"
    if row.ratio is not None and row.ratio_interval is not None:
        ratio = f"{_ratio(row.ratio)} ({_ratio(row.ratio_interval.low)}–{_ratio(row.ratio_interval.high)})"
    return [
        f"{row.experiment} {row.arm}",
        row.metric,
        _estimate(row.first, words),
        _estimate(row.second, words),
        f"{row.first.num_values}, {row.second.num_values}",
        ratio,
        row.verdict,
    ]


def _estimate(estimate: Estimate, words: Callable[[float], str]) -> str:
    """Return ``1.20 s (1.18–1.22 s)``; the low end keeps its unit where it is another one."""
    low, high = words(estimate.interval.low), words(estimate.interval.high)
    number, _, unit = low.rpartition(" ")
    return f"{words(estimate.median)} ({number if high.endswith(f' {unit}') else low}–{high})"


def _ratio(value: float) -> str:
    return f"{value:.2f}" if value >= 0.1 else f"{value:.2g}"


def _tokens_per_s(value: float) -> str:
    return f"{value:.1f} tokens/s"


_FORMATS: dict[Unit, Callable[[float], str]] = {
    "total_ns": total,
    "per_token_ns": per_token,
    "stage_ns": stage,
    "tokens/s": _tokens_per_s,
}


def _aligned(cells: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        yield "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()


def _markdown(cells: Sequence[Sequence[str]]) -> Iterator[str]:
    head, *rows = ([cell.replace("|", "\\|") for cell in row] for row in cells)
    yield f"| {' | '.join(head)} |"
    yield "|---" * len(head) + "|"
    for row in rows:
        yield f"| {' | '.join(row)} |"

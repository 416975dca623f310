"""``spanreel traces show``: what a set holds, each arm's exemplar stage by stage and to scale."""

from __future__ import annotations

import json
import os
import shutil
from typing import Any

import click

from spanreel import paths
from spanreel.commands.traces.listing import heading
from traces import load_set
from traces.bindings import Subject
from traces.export.selection import select_experiments
from traces.metrics import e2e_ns, name_sums_ns, ttft_ns
from traces.timeline import Timeline, timeline
from traces.wording import stage, total

_MIN_COLUMNS = 72
_MAX_COLUMNS = 160
_LABEL_CHARS = 14
_SUM_CHARS = 10
_COLOURS = {
    "gateway": "blue",
    "router": "blue",
    "tokenizer": "magenta",
    "sampler": "magenta",
    "stream": "magenta",
    "queue": "yellow",
    "model": "cyan",
    "unattributed": "red",
}


@click.command("show")
@click.argument("name", metavar="[SET]", required=False)
@click.option("--experiment", metavar="ID", help="One experiment only.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def show_set(name: str | None, experiment: str | None, as_json: bool) -> None:
    """Show what a set holds: its machine, and each arm's exemplar, stage by stage and to scale."""
    trace_set = load_set(paths.set_dir(name))
    subjects = [
        Subject.exemplar(chosen, arm.id) for chosen in select_experiments(trace_set, experiment) for arm in chosen.arms
    ]
    arms = [_arm(subject, trace_set.short_hash(subject.experiment.id)) for subject in subjects]
    if as_json:
        click.echo(json.dumps(heading(trace_set) | {"arms": arms, "ok": True}))
        return
    click.echo("{name}: {machine}, {model}, {recorded}".format(**heading(trace_set)))
    for subject, arm in zip(subjects, arms, strict=True):
        _print_stages(arm)
        if subject.path:
            _print_timeline(subject)


def _arm(subject: Subject, short_hash: str) -> dict[str, Any]:
    request = subject.request
    return {
        "experiment": subject.experiment.id,
        "arm": subject.arm.id,
        "label": subject.arm.label,
        "hash": short_hash,
        "rule": subject.arm.exemplar.rule,
        "request": request.id,
        "output_tokens": request.num_output_tokens,
        "ttft_ns": ttft_ns(request) if request.num_output_tokens else None,
        "e2e_ns": e2e_ns(subject.path),
        "by_name_ns": name_sums_ns(subject.path),
    }


def _print_stages(arm: dict[str, Any]) -> None:
    click.echo("\n{experiment} {arm}  {label}  (trace {hash}, {rule})".format(**arm))
    first = total(arm["ttft_ns"]) if arm["ttft_ns"] is not None else "none"
    click.echo(f"  {arm['request']}: {arm['output_tokens']} tokens, first {first}, end {total(arm['e2e_ns'])}")
    for span, duration_ns in arm["by_name_ns"].items():
        click.echo(f"  {span:<14}{stage(duration_ns):>10}  {duration_ns / arm['e2e_ns']:7.2%}")


def _print_timeline(subject: Subject) -> None:
    """Print the lanes as wide as the terminal; colours are for terminals alone, and not where NO_COLOR is set."""
    columns = min(max(shutil.get_terminal_size().columns, _MIN_COLUMNS), _MAX_COLUMNS)
    drawn = timeline(subject, columns - _LABEL_CHARS - _SUM_CHARS)
    click.echo()
    _print_row("", drawn.tick_labels)
    _print_row("", drawn.ruler, total(e2e_ns(subject.path)))
    for lane in drawn.lanes:
        _print_row(lane.component, lane.cells, stage(lane.sum_ns), colour=_COLOURS.get(lane.component))
    _print_row("first token", drawn.first_token)
    click.echo(f"  {_legend(drawn)}")


def _print_row(label: str, cells: str, end: str = "", colour: str | None = None) -> None:
    styled = click.style(cells, fg=colour) if colour and not os.environ.get("NO_COLOR") else cells
    click.echo(f"  {label:<{_LABEL_CHARS - 2}}{styled}{end:>{_SUM_CHARS}}".rstrip())


def _legend(drawn: Timeline) -> str:
    return f"█ busy  ▒ network  ░ waiting  ^ less than half of a cell of {stage(drawn.cell_ns)}"

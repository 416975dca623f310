"""``spanreel traces``: list, show and check trace sets."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from spanreel import paths
from spanreel.errors import InputError
from traces import TraceError, TraceMismatchError, TraceSet, load_set
from traces.bindings import Subject
from traces.check import unattributed_faults
from traces.metrics import e2e_ns, name_sums_ns, ttft_ns
from traces.wording import stage, total

_SHOWN_FAULTS = 5


@click.group()
def command() -> None:
    """List, show and check trace sets."""


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def list_sets(as_json: bool) -> None:
    """List the recorded sets."""
    rows = [_summary(folder) for folder in _recorded()]
    if as_json:
        click.echo(json.dumps({"sets": rows, "ok": all("error" not in row for row in rows)}))
        return
    if not rows:
        click.echo("no trace set is recorded yet; record one with: spanreel profile")
    for row in rows:
        click.echo(row.get("error") or "{name}  {machine}, {model}, {recorded}: {experiments}".format(**row))


@command.command("show")
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def show_set(name: str | None, as_json: bool) -> None:
    """Show what a set holds: its machine, and each arm's exemplar, stage by stage."""
    trace_set = load_set(paths.set_dir(name))
    arms = [
        _arm(Subject.exemplar(experiment, arm.id), trace_set.short_hash(experiment.id))
        for experiment in trace_set.experiments.values()
        for arm in experiment.arms
    ]
    if as_json:
        click.echo(json.dumps(_header(trace_set) | {"arms": arms, "ok": True}))
        return
    click.echo("{name}: {machine}, {model}, {recorded}".format(**_header(trace_set)))
    for arm in arms:
        click.echo("\n{experiment} {arm}  {label}  (trace {hash}, {rule})".format(**arm))
        first = total(arm["ttft_ns"]) if arm["ttft_ns"] is not None else "none"
        click.echo(f"  {arm['request']}: {arm['output_tokens']} tokens, first {first}, end {total(arm['e2e_ns'])}")
        for span, duration_ns in arm["by_name_ns"].items():
            click.echo(f"  {span:<14}{stage(duration_ns):>10}  {duration_ns / arm['e2e_ns']:7.2%}")


@command.command("check")
@click.argument("names", nargs=-1)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def check_sets(ctx: click.Context, names: tuple[str, ...], as_json: bool) -> None:
    """Check every invariant of the named sets, or of all recorded ones; exit 2 broken, 3 altered, 1 too much unnamed.

    Raises:
        InputError: There is nothing to check.
    """
    folders = [paths.set_dir(name) for name in names] if names else _recorded()
    if not folders:
        raise InputError("no trace set is recorded yet; record one with: spanreel profile")
    results = [_check(folder) for folder in folders]
    code = max(code for _, code in results)
    if as_json:
        click.echo(json.dumps({"sets": [row for row, _ in results], "ok": code == 0}))
    else:
        for row, _ in results:
            _print_check(row)
    ctx.exit(code)


@command.command("diff", context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1)
def diff_sets(arguments: tuple[str, ...]) -> None:
    """Compare two sets (comes later).

    Raises:
        InputError: Always.
    """
    raise InputError("traces diff comes in a later version; until then compare: spanreel traces show SET --json")


@command.command("export", context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1)
def export_set(arguments: tuple[str, ...]) -> None:
    """Export a set for other viewers (comes later).

    Raises:
        InputError: Always.
    """
    raise InputError("traces export comes in a later version; until then use: spanreel traces show SET --json")


def _recorded() -> list[Path]:
    return sorted(file.parent for file in paths.RECORDED.glob("*/set.json"))


def _header(trace_set: TraceSet) -> dict[str, str]:
    header = trace_set.header
    recorded = datetime.fromtimestamp(header.recorded_wall_ns / 1e9, tz=UTC)
    return {
        "name": header.name,
        "machine": header.fingerprint.label,
        "model": header.model.label,
        "recorded": f"{recorded:%Y-%m-%d}",
    }


def _summary(folder: Path) -> dict[str, str]:
    try:
        trace_set = load_set(folder)
    except TraceError as error:
        return {"name": folder.name, "error": str(error)}
    return _header(trace_set) | {"experiments": ", ".join(trace_set.experiments) or "no experiment"}


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


def _check(folder: Path) -> tuple[dict[str, Any], int]:
    """Return what was found in one set, and the exit code that it asks for."""
    try:
        trace_set = load_set(folder)
    except TraceError as error:
        return {"name": folder.name, "faults": [str(error)]}, 3 if isinstance(error, TraceMismatchError) else 2
    faults = [fault for experiment in trace_set.experiments.values() for fault in unattributed_faults(experiment)]
    return {"name": trace_set.name, "experiments": list(trace_set.experiments), "faults": faults}, 1 if faults else 0


def _print_check(row: dict[str, Any]) -> None:
    faults: list[str] = row["faults"]
    if not faults:
        click.echo(f"{row['name']}: ok ({', '.join(row['experiments'])})")
        return
    for fault in faults[:_SHOWN_FAULTS]:
        click.echo(f"{row['name']}: {fault}", err=True)
    if len(faults) > _SHOWN_FAULTS:
        click.echo(f"{row['name']}: {len(faults) - _SHOWN_FAULTS} more; all with --json", err=True)

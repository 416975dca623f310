"""``spanreel traces check``: every invariant, and no more unnamed time than is allowed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from spanreel import paths
from spanreel.commands.traces.listing import recorded
from spanreel.engine import become_engine
from spanreel.errors import InputError
from traces import TraceError, TraceMismatchError, load_set
from traces.check import unattributed_faults

_SHOWN_FAULTS = 5


@click.command("check")
@click.argument("names", metavar="[SET]...", nargs=-1)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option(
    "--replay",
    metavar="N",
    type=click.IntRange(min=1),
    help="Also run N recorded requests again on the engine, and compare what comes out.",
)
@click.pass_context
def check_sets(ctx: click.Context, names: tuple[str, ...], as_json: bool, replay: int | None) -> None:
    """Check every invariant of the named sets, or of all recorded ones.

    Exits with 2 for a broken set, 3 for an altered one or one that does not come out again, 1 for one with too much
    unnamed time.
    """
    folders = [paths.set_dir(name) for name in names] if names else recorded()
    if not folders:
        raise InputError("no trace set is recorded yet; record one with: spanreel profile")
    if replay is not None and (len(folders) > 1 or as_json):
        raise InputError("--replay checks one set and prints lines; name one set, without --json")
    results = [_check(folder) for folder in folders]
    code = max(code for _, code in results)
    if as_json:
        click.echo(json.dumps({"sets": [row for row, _ in results], "ok": code == 0}))
    else:
        for row, _ in results:
            _print_check(row)
    if replay is not None and code == 0:
        become_engine("replay", {"requests": replay}, [str(folders[0])])
    ctx.exit(code)


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
        click.echo(f"{row['name']}: ok ({', '.join(row['experiments']) or 'no experiment'})")
        return
    for fault in faults[:_SHOWN_FAULTS]:
        click.echo(f"{row['name']}: {fault}", err=True)
    if len(faults) > _SHOWN_FAULTS:
        click.echo(f"{row['name']}: {len(faults) - _SHOWN_FAULTS} more; all with --json", err=True)

"""``spanreel traces list``, and how a set is named in one line."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import click

from spanreel import paths
from traces import TraceError, TraceSet, load_set


@click.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def list_sets(as_json: bool) -> None:
    """List the recorded sets."""
    rows = [_summary(folder) for folder in recorded()]
    if as_json:
        click.echo(json.dumps({"sets": rows, "ok": all("error" not in row for row in rows)}))
        return
    if not rows:
        click.echo("no trace set is recorded yet; record one with: spanreel profile")
    for row in rows:
        click.echo(row.get("error") or "{name}  {machine}, {model}, {recorded}: {experiments}".format(**row))


def recorded() -> list[Path]:
    """Return the folders of the sets below ``traces/recorded``."""
    return sorted(file.parent for file in paths.RECORDED.glob("*/set.json"))


def heading(trace_set: TraceSet) -> dict[str, str]:
    """Return a set's name, its machine, its model and the day of its recording."""
    header = trace_set.header
    day = datetime.fromtimestamp(header.recorded_wall_ns / 1e9, tz=UTC)
    return {
        "name": header.name,
        "machine": header.fingerprint.label,
        "model": header.model.label,
        "recorded": f"{day:%Y-%m-%d}",
    }


def _summary(folder: Path) -> dict[str, str]:
    try:
        trace_set = load_set(folder)
    except TraceError as error:
        return {"name": folder.name, "error": str(error)}
    return heading(trace_set) | {"experiments": ", ".join(trace_set.experiments) or "no experiment"}

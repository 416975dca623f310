"""``spanreel traces export``: a set for Perfetto, or for what reads OpenTelemetry."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import click

from spanreel import paths
from spanreel.errors import InputError
from traces import TraceSet, load_set
from traces.export.otlp import otlp_json_lines
from traces.export.perfetto import perfetto_json
from traces.export.selection import SelectedRun, select_runs

_Encoder = Callable[[TraceSet, Sequence[SelectedRun]], bytes]
_FORMATS: dict[str, tuple[_Encoder, str]] = {
    "perfetto": (perfetto_json, ".perfetto.json"),
    "otlp": (otlp_json_lines, ".otlp.jsonl"),
}
_STDOUT = "-"


@click.command("export")
@click.argument("name", metavar="[SET]", required=False)
@click.option("--perfetto", "form", flag_value="perfetto", help="Chrome trace events, for ui.perfetto.dev.")
@click.option("--otlp", "form", flag_value="otlp", help="OpenTelemetry JSON Lines, one trace a request.")
@click.option("-o", "--output", metavar="FILE", help="Where to write; - is standard output. Default: named after SET.")
@click.option("--experiment", metavar="ID", help="One experiment only.")
@click.option("--arm", metavar="ID", help="The arms of this name only.")
def export_set(name: str | None, form: str | None, output: str | None, experiment: str | None, arm: str | None) -> None:
    """Write a set's requests and engine steps for another viewer; without prompts and replies."""
    if form is None:
        raise InputError("which format? Give --perfetto or --otlp")
    trace_set = load_set(paths.set_dir(name))
    runs = select_runs(trace_set, experiment, arm)
    encode, suffix = _FORMATS[form]
    data = encode(trace_set, runs)
    if output == _STDOUT:
        click.echo(data, nl=False)
        return
    target = Path(output or "-".join(part for part in (trace_set.path.name, experiment, arm) if part) + suffix)
    _write(target, data)
    num_requests = sum(len(selected.run.requests) for selected in runs)
    click.echo(f"{target}: {num_requests} requests of {len(runs)} runs, {len(data) / 1e6:.1f} MB")


def _write(target: Path, data: bytes) -> None:
    """Write a file that appears under its name only when it is whole."""
    staged = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        staged.write_bytes(data)
        os.replace(staged, target)
    except OSError as error:
        staged.unlink(missing_ok=True)
        raise InputError(f"{target}: {error.strerror or error}; choose another file with -o") from error

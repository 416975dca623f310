"""``spanreel build``: draw what is missing and put the deck together."""

from __future__ import annotations

import json
from pathlib import Path

import click

from spanreel import paths
from spanreel.assemble import FILM_FILE, FORMAT_FILES, PAGE_FILE, SHEET_FILE
from spanreel.build import DEFAULT_FORMATS, Built, Order, build, num_cores
from spanreel.errors import EnvironmentLackError, InputError
from spanreel.plan import HEIGHTS_PX
from spanreel.report import Report

_HOW_TO_OPEN = {
    PAGE_FILE: "open it in any browser; it needs no network",
    FILM_FILE: "play it in any player; each slide is a chapter",
    SHEET_FILE: "every pause at a glance",
}


@click.command()
@click.option("--set", "set_name", metavar="NAME", help="Trace set, by name or path; else the talk's own.")
@click.option("-q", "--quality", type=click.Choice(list(HEIGHTS_PX)), default="hd", help="Picture size.")
@click.option(
    "-f", "--format", "formats", multiple=True, type=click.Choice([*FORMAT_FILES, "pdf"]), help="May be given again."
)
@click.option("-o", "--out", "out_dir", type=click.Path(path_type=Path, file_okay=False), help="Output folder.")
@click.option("-j", "--jobs", type=click.IntRange(min=1), help="Processes that draw; else one a core.")
@click.option("--only", metavar="CLIP", help="Build the slide of one clip, into a folder of its own.")
@click.option("--quiet", is_flag=True, help="Say nothing but errors.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(
    set_name: str | None,
    quality: str,
    formats: tuple[str, ...],
    out_dir: Path | None,
    jobs: int | None,
    only: str | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Build the deck: deck.html and deck.mp4, or the formats asked for.

    Raises:
        InputError: PDF was asked for.
        EnvironmentLackError: A file cannot be written.
    """
    if "pdf" in formats:
        raise InputError("PDF comes in a later version; until then build the stills with: spanreel build -f png")
    order = Order(paths.set_dir(set_name), formats or DEFAULT_FORMATS, quality, out_dir, only, jobs or num_cores())
    try:
        with Report(quiet) as report:
            built = build(order, report)
    except OSError as error:
        where = error.filename2 or error.filename or out_dir or paths.OUT
        raise EnvironmentLackError(f"{where}: {error.strerror}; make room there, or build elsewhere with -o") from error
    if as_json:
        click.echo(json.dumps(_summary(built)))
    elif not quiet:
        _print(built)


def _summary(built: Built) -> dict[str, object]:
    outputs = [{"file": each.file, "sha256": each.sha256, "num_bytes": each.num_bytes} for each in built.deck.outputs]
    return {
        "set": built.deck.set,
        "folder": str(built.folder),
        "unchanged": built.unchanged,
        "outputs": outputs,
        "ok": True,
    }


def _print(built: Built) -> None:
    if built.unchanged:
        click.echo("nothing has changed since the last build")
    sizes = {output.file: output.num_bytes for output in built.deck.outputs}
    for name, how in _HOW_TO_OPEN.items():
        if name in sizes:
            click.echo(f"{built.folder / name}  {sizes[name] / 1e6:.1f} MB: {how}")

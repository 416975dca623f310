"""``spanreel verify``: hold the built deck's pixels to its trace."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from spanreel import paths
from spanreel.deck import DECK_FILE
from spanreel.errors import EnvironmentLackError, InputError


@click.command()
@click.argument("folder", metavar="[DIR]", required=False, type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, with every fault.")
@click.pass_context
def command(ctx: click.Context, folder: Path | None, as_json: bool) -> None:
    """Hold the pixels of a built deck to its trace; DIR is the last build if it is left out.

    Decodes deck.mp4, fits the scale to the drawn ticks, reads the edges of every bar, follows those that move, and
    compares texts, titles and digests. Exit 0 if all agree, 3 if something does not.

    Raises:
        EnvironmentLackError: The libraries that decode the film are missing.
    """
    try:
        from spanreel.verify.decks import verify_deck
        from spanreel.verify.report import summary
    except ImportError as error:
        raise EnvironmentLackError(f"{error}; install what verify needs with: make deck") from error
    report = verify_deck(folder or _last_build())
    if as_json:
        click.echo(msgspec.json.encode(report))
    else:
        for line in summary(report):
            click.echo(line)
    ctx.exit(0 if report.ok else 3)


def _last_build() -> Path:
    """Return the folder below ``out/`` whose manifest is the newest.

    Raises:
        InputError: Nothing was built yet.
    """
    built = sorted(paths.OUT.glob(f"*/{DECK_FILE}"), key=lambda file: file.stat().st_mtime_ns)
    if not built:
        raise InputError("nothing is built yet; build the deck with: spanreel build")
    return built[-1].parent

"""``spanreel present``: the deck on stage, with live demos."""

from __future__ import annotations

import click


@click.command()
@click.option("--set", "set_name", metavar="NAME", help="Trace set, by name or path; else the talk's own.")
@click.option("--port", type=click.IntRange(0, 65535), default=7420, show_default=True, help="0 takes a free one.")
@click.option("--no-live", is_flag=True, help="Recordings alone; needs no engine.")
@click.option("--rehearse", is_flag=True, help="Run every live demo once, say how it went, and end.")
@click.option("--json", "as_json", is_flag=True, help="With --rehearse: print one JSON object.")
def command(set_name: str | None, port: int, no_live: bool, rehearse: bool, as_json: bool) -> None:
    """Present the deck from this machine, with live demos between the slides.

    The first line is the address to open in a browser; its end is this run's key. Ctrl-C ends the deck and the engine.
    """
    import asyncio

    from spanreel import paths
    from spanreel.present.rehearsal import rehearse as rehearse_demos
    from spanreel.present.server import present
    from spanreel.present.stage import prepare_stage

    stage = prepare_stage(paths.set_dir(set_name), live=not no_live, with_deck=not rehearse)
    if rehearse:
        asyncio.run(rehearse_demos(stage, click.echo, as_json=as_json))
    else:
        asyncio.run(present(stage, port, click.echo))

"""``spanreel demo``: one live demo."""

from __future__ import annotations

import click


@click.command()
@click.argument("name", type=click.Choice(["one-request"]))
@click.option("--set", "set_name", metavar="NAME", help="Trace set, by name or path; else the talk's own.")
@click.option("--port", type=click.IntRange(0, 65535), default=7420, show_default=True, help="0 takes a free one.")
@click.option("--terminal", is_flag=True, help="Run it once and draw its lanes as text.")
def command(name: str, set_name: str | None, port: int, terminal: bool) -> None:
    """Serve one live demo: its first line is the address of the demo's slide, to open in a browser.

    Raises:
        InputError: The talk has no slide with this demo.
    """
    import asyncio

    from slides.talk import load_talk
    from spanreel import paths
    from spanreel.errors import InputError
    from spanreel.present.rehearsal import run_in_terminal
    from spanreel.present.server import present
    from spanreel.present.stage import prepare_stage

    slide = next((slide.id for slide in load_talk().slides if slide.demo == name), None)
    if slide is None:
        raise InputError(f"the talk has no slide with the demo {name!r}")
    stage = prepare_stage(paths.set_dir(set_name), live=True, with_deck=not terminal)
    if terminal:
        asyncio.run(run_in_terminal(stage, click.echo))
    else:
        asyncio.run(present(stage, port, click.echo, slide))

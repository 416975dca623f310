"""``spanreel serve``: the engine alone."""

from __future__ import annotations

import click


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="A loopback address.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, show_default=True, help="0 takes a free one.")
@click.option("--model", help="A Llama-type model's folder.  [default: the packaged SmolLM2]")
@click.option("--threads", type=click.IntRange(min=1), default=1, show_default=True, help="Threads of the runner.")
def command(host: str, port: int, model: str | None, threads: int) -> None:
    """Run the engine alone, OpenAI-compatible; its first lines say the address and the token.

    The token is the value of $SPANREEL_TOKEN, or a new one for each run.
    """
    from spanreel.engine import become_engine

    become_engine("serve", {"host": host, "port": port, "model": model, "threads": threads})

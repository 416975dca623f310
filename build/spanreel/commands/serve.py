"""``spanreel serve``: the engine alone."""

from __future__ import annotations

import click


@click.command(context_settings={"ignore_unknown_options": True})
@click.option("--host", default="127.0.0.1", show_default=True, help="A loopback address.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, show_default=True, help="0 takes a free one.")
@click.option("--model", help="A Llama-type model's folder.  [default: the packaged SmolLM2]")
@click.option("--threads", type=click.IntRange(min=1), default=1, show_default=True, help="Threads of the runner.")
@click.argument("settings", nargs=-1, type=click.UNPROCESSED)
def command(host: str, port: int, model: str | None, threads: int, settings: tuple[str, ...]) -> None:
    """Run the engine alone, OpenAI-compatible; its first lines say the address and the token.

    The token is the value of $SPANREEL_TOKEN, or a new one for each run. SETTINGS are the engine's own options, such
    as --enable-prefix-caching, --max-num-seqs 16 or --batching static; python -m demo_engine serve --help lists them.
    """
    from spanreel.engine import become_engine

    become_engine("serve", {"host": host, "port": port, "model": model, "threads": threads}, settings)

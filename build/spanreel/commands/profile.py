"""``spanreel profile``: measure this machine and write a trace set."""

from __future__ import annotations

from pathlib import Path

import click

from spanreel import paths


@click.command()
@click.option("--only", metavar="EXPERIMENTS", help="Run these alone, by id or name: e08,prefix-hit.")
@click.option("--quick", is_flag=True, help="Fewer and smaller runs, about three minutes.")
@click.option("--anyway", is_flag=True, help="Also on a machine that is busy.")
@click.option("--model", help="A Llama-type model's folder.  [default: the packaged SmolLM2]")
@click.option("--threads", type=click.IntRange(min=1), default=1, show_default=True, help="Threads of the runner.")
@click.option("--set", "set_name", metavar="NAME", help="Name of the set.  [default: after hardware and model]")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=paths.RECORDED,
    help="Folder that receives the set's folder.  [default: traces/recorded]",
)
def command(
    only: str | None, quick: bool, anyway: bool, model: str | None, threads: int, set_name: str | None, out: Path
) -> None:
    """Run the experiments on this machine and write what was measured as a trace set."""
    from spanreel.engine import become_engine

    become_engine(
        "profile",
        {
            "only": only,
            "quick": quick,
            "anyway": anyway,
            "model": model,
            "threads": threads,
            "set": set_name,
            "out": str(out),
        },
    )

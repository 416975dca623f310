"""``spanreel bench``: speed, measured side by side with a baseline in the same run."""

from __future__ import annotations

import json
from typing import Any, NoReturn

import click

from spanreel import packages, paths
from spanreel.errors import EnvironmentLackError, InputError, SpanreelError

_ENGINE = ("engine", "tracing")
_LATER = ("kernels",)
_HOW = {
    "render": "one scene, 40 labels and 40 growing bars at 1920×1080, drawn both ways, one after the other",
    "deck": "the talk's set built in a folder of its own: from nothing, again, and as stills from nothing",
}


@click.command()
@click.argument("what", type=click.Choice(["render", "deck", *_ENGINE, *_LATER]))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON list.")
@click.option("--quick", is_flag=True, help="Fewer rounds (engine and tracing).")
def command(what: str, as_json: bool, quick: bool) -> None:
    """Measure speed, side by side with a baseline, both in this run.

    A target stands in the figure's own unit; that of a throughput is its ratio to the baseline.

    Raises:
        InputError: The benchmark comes in a later version.
    """
    if what in _LATER:
        raise InputError(
            f"bench {what} comes in a later version; there are: spanreel bench render, deck, engine, tracing"
        )
    if what in _ENGINE:
        _become_engine(what, as_json, quick)
    figures = _render() if what == "render" else _deck()
    if as_json:
        click.echo(json.dumps(figures, indent=1))
        return
    click.echo(_HOW[what])
    click.echo(f"baseline: {figures[0]['baseline']}\n")
    click.echo(f"{'':<16}{'spanreel':>12}{'baseline':>12}{'ratio':>8}  target")
    for figure in figures:
        click.echo(_row(figure))


def _become_engine(what: str, as_json: bool, quick: bool) -> NoReturn:
    from spanreel.engine import become_engine

    become_engine("bench", {"json": as_json, "quick": quick}, [what])


def _render() -> list[dict[str, Any]]:
    packages.require("render")
    from scenes.render.bench import bench_render
    from scenes.render.errors import RenderError
    from scenes.render.fonts import prepare_fonts

    fonts = paths.CACHE / "fonts"
    try:
        prepare_fonts(paths.NODE_MODULES, fonts)
        return bench_render(fonts, paths.THEME)
    except RenderError as error:
        kind = EnvironmentLackError if error.exit_code == EnvironmentLackError.exit_code else SpanreelError
        raise kind(str(error)) from error


def _deck() -> list[dict[str, Any]]:
    packages.require("render")
    from spanreel.bench_deck import bench_deck

    return bench_deck()


def _row(figure: dict[str, Any]) -> str:
    unit = figure["unit"]
    value, baseline = f"{figure['value']:.1f} {unit}", f"{figure['baseline_value']:.1f} {unit}"
    row = f"{figure['figure']:<16}{value:>12}{baseline:>12}{figure['ratio']:>7.1f}×"
    if figure["target"] is None:
        return row
    return f"{row}  ≤ {figure['target']:g} {unit}: {'met' if figure['met'] else 'missed'}"

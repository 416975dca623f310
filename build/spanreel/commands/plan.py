"""``spanreel plan``: list what a build would draw."""

from __future__ import annotations

import json

import click

from spanreel import paths
from spanreel.plan import HEIGHTS_PX, Look, Unit, drawable, plan_units, the_talk
from spanreel.units import UnitCache
from traces import load_set


@click.command()
@click.option("--set", "set_name", metavar="NAME", help="Trace set, by name or path; else the talk's own.")
@click.option("-q", "--quality", type=click.Choice(list(HEIGHTS_PX)), default="hd", help="Picture size.")
@click.option("--stills", is_flag=True, help="Stills alone, without film.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(set_name: str | None, quality: str, stills: bool, as_json: bool) -> None:
    """List the units of a build, each with the hash that it is cached under."""
    trace_set = load_set(paths.set_dir(set_name))
    slides, left_out = drawable(the_talk(), trace_set)
    units = plan_units(slides, trace_set, Look(quality, "stills" if stills else "film"))
    cache = UnitCache(paths.CACHE)
    if as_json:
        rows = [_row(unit, cache) for unit in units]
        click.echo(json.dumps({"set": trace_set.name, "units": rows, "left_out": left_out, "ok": True}))
        return
    for line in left_out:
        click.echo(line, err=True)
    for unit in units:
        state = "cached" if cache.has(unit.hash) else "to draw"
        click.echo(f"{unit.clip}  {unit.hash[:16]}  {state:<7}  slide {unit.slide}")


def _row(unit: Unit, cache: UnitCache) -> dict[str, object]:
    return {
        "clip": unit.clip,
        "slide": unit.slide,
        "hash": unit.hash,
        "mode": unit.look.mode,
        "height_px": unit.look.height_px,
        "titles": unit.titles,
        "cached": cache.has(unit.hash),
    }

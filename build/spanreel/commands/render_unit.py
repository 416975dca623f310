"""``spanreel render-unit``: draw one unit of the plan, so that units can be given to many machines."""

from __future__ import annotations

import click

from spanreel import paths
from spanreel.errors import InputError
from spanreel.plan import HEIGHTS_PX, Look, drawable, plan_units, the_talk
from spanreel.render import Renderer
from spanreel.report import Report
from spanreel.units import UnitCache
from traces import load_set

_PREFIX_MIN_CHARS = 8


@click.command()
@click.argument("unit_id", metavar="ID")
@click.option("--set", "set_name", metavar="NAME", help="Trace set, by name or path; else the talk's own.")
@click.option("-q", "--quality", type=click.Choice(list(HEIGHTS_PX)), default="hd", help="Picture size.")
@click.option("--stills", is_flag=True, help="Stills alone, without film.")
@click.option("--quiet", is_flag=True, help="Say nothing but errors.")
def command(unit_id: str, set_name: str | None, quality: str, stills: bool, quiet: bool) -> None:
    """Draw one unit into the cache; ID is a clip, or a hash of the plan or its beginning.

    Raises:
        InputError: The plan has no such unit.
    """
    trace_set = load_set(paths.set_dir(set_name))
    slides, _ = drawable(the_talk(), trace_set)
    units = plan_units(slides, trace_set, Look(quality, "stills" if stills else "film"))
    wanted = [unit for unit in units if unit_id == unit.clip or _names(unit_id, unit.hash)]
    if not wanted:
        raise InputError(f"no unit {unit_id!r} in the plan; list its units with: spanreel plan")
    cache = UnitCache(paths.CACHE)
    with Report(quiet) as report:
        folders = Renderer(cache, report).folders(wanted[:1], num_jobs=1)
    click.echo(folders[wanted[0].clip])


def _names(prefix: str, unit_hash: str) -> bool:
    return len(prefix) >= _PREFIX_MIN_CHARS and unit_hash.startswith(prefix)

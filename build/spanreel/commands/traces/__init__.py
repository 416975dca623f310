"""``spanreel traces``: list, show, compare, check and export trace sets."""

from __future__ import annotations

import click

from spanreel.commands.traces.check import check_sets
from spanreel.commands.traces.claims import show_claims
from spanreel.commands.traces.diff import diff_sets
from spanreel.commands.traces.export import export_set
from spanreel.commands.traces.listing import list_sets
from spanreel.commands.traces.show import show_set


@click.group()
def command() -> None:
    """List, show, compare, check and export trace sets.

    A SET is a name below traces/recorded or a folder that holds set.json.
    """


for _verb in (list_sets, show_set, show_claims, diff_sets, check_sets, export_set):
    command.add_command(_verb)

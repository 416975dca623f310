"""The command group. Each verb is a module that is imported only when it is called, so that ``--help`` is instant."""

from __future__ import annotations

import importlib
import os
import sys

import click

from spanreel import __version__
from spanreel.errors import InputError

VERBS: dict[str, tuple[str, str]] = {
    "build": ("build", "Build the deck from a recorded trace set."),
    "bench": ("bench", "Measure speed, side by side with a baseline."),
    "demo": ("demo", "Open one live demo in the browser."),
    "doctor": ("doctor", "Say what is here, what is missing, and what to install."),
    "plan": ("plan", "List what a build would render."),
    "present": ("present", "Present the deck with live demos."),
    "profile": ("profile", "Measure this machine and write a trace set."),
    "render-unit": ("render_unit", "Render one unit of the plan."),
    "serve": ("serve", "Run the engine alone, OpenAI-compatible."),
    "traces": ("traces", "List, show and check trace sets."),
    "verify": ("verify", "Hold the built deck's pixels to its trace."),
}
"""Verb → (module in ``spanreel.commands``, one line for ``--help``)."""


class LazyGroup(click.Group):
    """A group that knows its verbs by name and imports one only to run it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the verbs in alphabetical order."""
        return sorted(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the verb's module and return its command."""
        if cmd_name not in VERBS:
            return None
        module = importlib.import_module(f"spanreel.commands.{VERBS[cmd_name][0]}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the verbs without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(verb, VERBS[verb][1]) for verb in self.list_commands(ctx)])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="spanreel")
def group() -> None:
    """Build and present a deck whose every animated bar is a span of a real, measured request."""


def main() -> None:
    """Run the command line; trace errors become usage errors, Ctrl-C exits 130."""
    from traces.errors import TraceError

    try:
        try:
            code = group.main(standalone_mode=False)
        except TraceError as error:
            raise InputError(str(error)) from error
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        sys.exit(130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    sys.exit(code if isinstance(code, int) else 0)

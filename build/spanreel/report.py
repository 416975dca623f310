"""What a build says while it works: a progress bar on a terminal, plain lines elsewhere, nothing if it is quiet."""

from __future__ import annotations

import sys
from collections import Counter
from types import TracebackType
from typing import TYPE_CHECKING, Self

import click

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


class Report:
    """Speaks on standard error, so that standard output holds results alone. Its methods may be called from threads.

    Args:
        quiet: Say nothing.
    """

    def __init__(self, quiet: bool = False) -> None:
        self._quiet = quiet
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._segments: Counter[str] = Counter()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def say(self, line: str) -> None:
        """Say a line."""
        if self._quiet:
            return
        if self._bar is not None:
            self._bar.console.print(line, highlight=False, markup=False)
        else:
            click.echo(line, err=True)

    def begin(self, num_units: int) -> None:
        """Say how many clips will be drawn."""
        self.say(f"drawing {num_units} {'clip' if num_units == 1 else 'clips'}")
        if not self._quiet and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import Progress

            self._bar = Progress(console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task("", total=num_units)
            self._bar.start()

    def segment(self, clip: str) -> None:
        """Count a drawn segment of a clip."""
        self._segments[clip] += 1
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, description=f"clip {clip}, segment {self._segments[clip]}")

    def drawn(self, clip: str) -> None:
        """Say that a clip is done."""
        if self._bar is not None and self._task is not None:
            self._bar.advance(self._task)
        self.say(f"clip {clip} is drawn")

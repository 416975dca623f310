"""Who may ask the server to stop, and how."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Iterator

STDIN = 0
_SIGNALLED = 128


class StopRequest:
    """Whether the server was asked to stop, and whether it was asked again because that takes too long."""

    def __init__(self) -> None:
        self.made = asyncio.Event()
        self.repeated = asyncio.Event()
        self.exit_code = 0

    def make(self, exit_code: int) -> None:
        """Ask; ``exit_code`` is that of a server which had to be asked twice."""
        if self.made.is_set():
            self.exit_code = exit_code
            self.repeated.set()
        self.made.set()


@contextlib.contextmanager
def stop_requests(loop: asyncio.AbstractEventLoop, with_stdin: bool) -> Iterator[StopRequest]:
    """Yield what a signal asks for, or standard input when it closes."""
    stop = StopRequest()

    def stdin_readable() -> None:
        if not os.read(STDIN, 4096):
            stop.make(0)
            loop.remove_reader(STDIN)

    if with_stdin:
        loop.add_reader(STDIN, stdin_readable)
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.make, _SIGNALLED + number)
    try:
        yield stop
    finally:
        loop.remove_reader(STDIN)
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)

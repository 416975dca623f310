"""Signals that end a measurement in order, as Ctrl-C does."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType
from typing import NoReturn

_ENDING = (signal.SIGTERM, signal.SIGHUP)
"""A request to end, and a terminal that closes."""


@contextlib.contextmanager
def ending_in_order() -> Iterator[None]:
    """Let signals that would end the process at once raise ``KeyboardInterrupt``, so that children stop before it."""
    before = {
        number: signal.signal(number, _interrupt)
        for number in _ENDING
        if signal.getsignal(number) is signal.SIG_DFL  # after nohup, a closed terminal is to be ignored
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt

"""A request to end and a terminal that closes end a measurement as Ctrl-C does."""

from __future__ import annotations

import os
import signal

import pytest

from demo_engine.experiments.signals import ending_in_order


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_ends_is_an_interruption(number):
    """What is open closes in order, and afterwards the signal is what it was before."""
    with pytest.raises(KeyboardInterrupt), ending_in_order():
        os.kill(os.getpid(), number)
    assert signal.getsignal(number) is signal.SIG_DFL


def test_a_closed_terminal_stays_ignored_after_nohup():
    """Whoever started it so wants it to go on."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with ending_in_order():
            os.kill(os.getpid(), signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)

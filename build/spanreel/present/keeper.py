"""Runs a command at low priority and never outlives whoever started it.

``python -m spanreel.present.keeper COMMAND …``: the starter holds the other end of our standard input. When it closes,
on purpose or because the starter was killed, the command and everything that it started end too.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading

NICENESS = 10
GRACE_S = 3.0
_SIGNALLED = 128


def main(command: list[str]) -> int:
    """Run the command to its end and return its exit code."""
    os.nice(NICENESS)
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    threading.Thread(target=_follow_starter, args=(child,), daemon=True).start()
    code = child.wait()
    return code if code >= 0 else _SIGNALLED - code


def _follow_starter(child: subprocess.Popen[bytes]) -> None:
    while os.read(0, 1):  # empty when the other end is closed; sys.stdin's lock would be in the way of our own exit
        pass
    child.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(GRACE_S)
    if os.getpgrp() == os.getpid():  # the group is ours alone: also what the command left behind
        os.killpg(0, signal.SIGKILL)
    child.kill()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""One build at a time in an output folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from spanreel.errors import EnvironmentLackError

LOCK_FILE, PID_FILE = ".build.lock", ".build.pid"
WAIT_S = 10.0


@contextmanager
def sole_build(folder: Path, wait_s: float = WAIT_S) -> Iterator[None]:
    """Hold a folder's lock; it ends with the process, however that ends.

    Args:
        folder: The output folder, created if absent.
        wait_s: How long to wait for another build.

    Raises:
        EnvironmentLackError: Another process still builds there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    pid_file = folder / PID_FILE
    try:
        with FileLock(folder / LOCK_FILE, timeout=wait_s):
            pid_file.write_text(str(os.getpid()), encoding="ascii")
            try:
                yield
            finally:
                pid_file.unlink(missing_ok=True)
    except Timeout as error:
        raise EnvironmentLackError(
            f"process {_pid(pid_file)} is building in {folder}; wait for it, or build elsewhere with -o"
        ) from error


def _pid(pid_file: Path) -> str:
    try:
        return pid_file.read_text(encoding="ascii")
    except OSError:
        return "(unknown)"

"""Where a set is to lie: looked at before anything is measured, and held against a second profile."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock, Timeout

from demo_engine.errors import EnvironmentLackError, UsageError


def checked_target(parent: Path, name: str) -> Path:
    """Return the folder that a set will have.

    Raises:
        UsageError: The name leaves ``parent``, or something that is no set lies there.
    """
    if not name or Path(name).name != name or name.startswith("."):
        raise UsageError(f"set name {name!r}: use a bare name without a path")
    target = parent / name
    if target.exists() and not (target / "set.json").is_file():
        raise UsageError(f"{target} exists and is not a trace set; choose another --set or --out")
    return target


@contextlib.contextmanager
def held_place(parent: Path, name: str) -> Iterator[None]:
    """Hold the place of a set, which is created if absent; the hold ends with the process, however that ends.

    Raises:
        UsageError: There can be no such set, or the place cannot be written.
        EnvironmentLackError: Another profile records this set.
    """
    lock_file = parent / f".{name}.lock"
    lock = FileLock(lock_file, timeout=0)
    try:
        checked_target(parent, name)
        parent.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except Timeout as error:
        raise EnvironmentLackError(
            f"another profile is recording {parent / name}; wait for it, or choose another --set"
        ) from error
    except OSError as error:
        raise UsageError(f"{parent} cannot be written: {error.strerror}; choose another --out") from error
    try:
        yield
    finally:
        lock_file.unlink(missing_ok=True)  # while it is held: who waits for it begins again with a new file
        lock.release()

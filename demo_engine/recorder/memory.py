"""Memory that a process and its children hold."""

from __future__ import annotations

import os
from pathlib import Path

_PROC = Path("/proc")


def resident_bytes(pid: int) -> int | None:
    """Return the memory that a process and all that it started have resident; a page that two share counts twice.

    Returns:
        None where the system does not tell, or the process is gone.
    """
    parents = _parents()
    family = {pid}
    while found := {child for child, parent in parents.items() if parent in family} - family:
        family |= found
    sizes = [size for member in family if (size := _resident(member)) is not None]
    return sum(sizes) if sizes else None


def _parents() -> dict[int, int]:
    """Return the parent of every process."""
    parents = {}
    for folder in _PROC.glob("[0-9]*"):
        try:
            after_name = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        parents[int(folder.name)] = int(after_name[1])
    return parents


def _resident(pid: int) -> int | None:
    try:
        pages = int((_PROC / str(pid) / "statm").read_text().split()[1])
    except (OSError, IndexError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")

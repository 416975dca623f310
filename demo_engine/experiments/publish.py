"""A trace set appears under its name only as a whole."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from demo_engine.errors import UsageError
from traces import Experiment, SetHeader, load_set, save_set


def publish(parent: Path, header: SetHeader, experiments: dict[str, Experiment]) -> Path:
    """Write the set beside its final place, read it back, and move it there; an older set of the name goes.

    Raises:
        UsageError: The place is taken by something that is not a set, or cannot be written.
    """
    target = parent / header.name
    if Path(header.name).name != header.name:
        raise UsageError(f"set name {header.name!r}: use a bare name without a path")
    if target.exists() and not (target / "set.json").is_file():
        raise UsageError(f"{target} exists and is not a trace set; choose another --set or --out")
    try:
        parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{header.name}-", dir=parent) as staging:
            staged = Path(staging) / "new"
            save_set(staged, header, experiments)
            load_set(staged)
            if target.exists():
                os.replace(target, Path(staging) / "old")
            os.replace(staged, target)
    except OSError as error:
        raise UsageError(f"{target} cannot be written: {error.strerror}; choose another --out") from error
    return target

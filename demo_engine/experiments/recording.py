"""Where a set grows: a folder that is a valid set after each experiment, and becomes the set at the end.

The folder's name holds the fingerprint, so that an interrupted profile goes on exactly where the same machine, model
and commit left it, and never mixes with another's.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from pathlib import Path

from demo_engine.errors import EnvironmentLackError, UsageError
from traces import Experiment, SetHeader, TraceError, load_set, save_set

ID_CHARS = 12


class Recording:
    """A set that is being recorded.

    Args:
        parent: The folder that receives the set's folder.
        header: What stands in ``set.json``, without files.
        kind: What tells recordings of the same set apart, such as ``quick``; empty for a full one.
    """

    def __init__(self, parent: Path, header: SetHeader, kind: str = "") -> None:
        if Path(header.name).name != header.name or header.name.startswith("."):
            raise UsageError(f"set name {header.name!r}: use a bare name without a path")
        self.target = parent / header.name
        if self.target.exists() and not (self.target / "set.json").is_file():
            raise UsageError(f"{self.target} exists and is not a trace set; choose another --set or --out")
        words = [header.name, header.fingerprint.id[:ID_CHARS], *([kind] if kind else [])]
        self.folder = parent / f".{'-'.join(words)}.recording"
        self.header = header

    def open(self) -> list[str]:
        """Go on with what is there, or begin; return the files of the experiments that are finished.

        Raises:
            UsageError: The place cannot be written.
        """
        try:
            self.header = load_set(self.folder).header
        except TraceError:  # nothing there, or not whole
            shutil.rmtree(self.folder, ignore_errors=True)
            self._save({})
        return sorted(self.header.files)

    def take_over(self) -> None:
        """Begin with the experiments of the finished set of the same name.

        Raises:
            UsageError: It was recorded on another machine, with another model, or from another commit.
        """
        if not self.target.exists():
            return
        finished = load_set(self.target)
        if finished.header.fingerprint.id != self.header.fingerprint.id:
            raise UsageError(
                f"{self.target} was recorded by another machine, model or commit, and its other experiments with it; "
                "choose another --set, or measure all of them without --only"
            )
        by_id = finished.experiments
        self._save({file: by_id[file.partition("-")[0]] for file in finished.header.files})

    def keep(self, file: str, experiment: Experiment) -> None:
        """Add a finished experiment.

        Raises:
            EnvironmentLackError: The disk is full.
        """
        self._save({file: experiment})

    def publish(self) -> Path:
        """Move the set to its place as a whole; an older set of the name goes.

        Raises:
            UsageError: The place cannot be written.
        """
        load_set(self.folder)
        try:
            with tempfile.TemporaryDirectory(prefix=f".{self.header.name}-", dir=self.target.parent) as staging:
                if self.target.exists():
                    os.replace(self.target, Path(staging) / "old")
                os.replace(self.folder, self.target)
        except OSError as error:
            raise UsageError(f"{self.target} cannot be written: {error.strerror}; choose another --out") from error
        return self.target

    def _save(self, experiments: dict[str, Experiment]) -> None:
        try:
            self.header = save_set(self.folder, self.header, experiments)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise EnvironmentLackError(
                    f"no space is left for {self.folder}; free some and run the same command again: "
                    f"{len(self.header.files)} finished experiments are kept"
                ) from error
            raise UsageError(f"{self.folder} cannot be written: {error.strerror}; choose another --out") from error

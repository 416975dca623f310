"""Where a set grows: a folder that is a valid set after each experiment, and becomes the set at the end.

The folder's name holds the fingerprint, so that an interrupted profile goes on exactly where the same machine, model
and commit left it, and never mixes with another's.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Collection
from pathlib import Path

from demo_engine.errors import EnvironmentLackError, UsageError
from demo_engine.experiments.place import checked_target
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
        self.target = checked_target(parent, header.name)
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

    def take_over(self, besides: Collection[str], *, quick: bool) -> None:
        """Begin with the experiments of the finished set of the same name, besides the files that are to be made anew.

        Raises:
            UsageError: It was recorded on another machine, with another model, or from another commit; or one of
                the two is quick and the other in full.
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
        kept = [file for file in finished.header.files if file not in besides]
        if any(bool(by_id[file.partition("-")[0]].workload.get("quick")) != quick for file in kept):
            raise UsageError(
                f"{self.target} was measured {'in full' if quick else 'with --quick'}, this would not be; "
                "choose another --set, or measure alike"
            )
        self._save({file: by_id[file.partition("-")[0]] for file in kept})

    def keep(self, file: str, experiment: Experiment) -> None:
        """Add a finished experiment.

        Raises:
            EnvironmentLackError: The disk is full.
        """
        self._save({file: experiment})

    def publish(self) -> Path:
        """Move the set to its place as a whole; an older set of the name goes only when the new one is there.

        Raises:
            UsageError: The place cannot be written.
        """
        load_set(self.folder)
        try:
            with tempfile.TemporaryDirectory(prefix=f".{self.header.name}-", dir=self.target.parent) as staging:
                self._replace(Path(staging) / "old")
        except OSError as error:
            raise UsageError(f"{self.target} cannot be written: {error.strerror}; choose another --out") from error
        return self.target

    def discard_if_empty(self) -> None:
        """Leave nothing behind of a recording without any experiment."""
        if not self.header.files:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _replace(self, old: Path) -> None:
        """Move the set that was there to ``old`` and this one to its place, or nothing at all."""
        try:
            if self.target.exists():
                os.replace(self.target, old)
            os.replace(self.folder, self.target)
        except BaseException:
            if old.exists() and not self.target.exists():
                os.replace(old, self.target)
            raise

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

"""The cache of drawn units. A unit appears under its hash only when it is whole, and is read only if it still is."""

from __future__ import annotations

import json
import os
import shutil
from fractions import Fraction
from pathlib import Path

import msgspec

from scenes.ledger import Clip
from traces.storage import digest

CLIP_FILE = "clip.json"
SUMS_FILE = "sums.json"


class UnitError(Exception):
    """A folder is not the unit that it should be; the message says how."""


class UnitCache:
    """Units by hash, below one folder.

    Args:
        folder: The cache, created when it is first written to.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.fonts_dir = folder / "fonts"
        self.labels_dir = folder / "labels"

    def unit_dir(self, unit_hash: str) -> Path:
        """Return where a unit lies, or would lie."""
        return self.folder / "units" / unit_hash

    def has(self, unit_hash: str) -> bool:
        """Return whether a unit is there, whole or not."""
        return (self.unit_dir(unit_hash) / SUMS_FILE).is_file()

    def check(self, unit_hash: str) -> None:
        """Compare every file of a unit with the digest that it was stored with.

        Raises:
            UnitError: A file is missing, has changed, or was never listed.
        """
        folder = self.unit_dir(unit_hash)
        try:
            sums = json.loads((folder / SUMS_FILE).read_bytes())
        except (OSError, ValueError) as error:
            raise UnitError(f"its list of digests cannot be read: {error}") from error
        if _sums(folder) != sums:
            raise UnitError("a file is not the one that was stored")

    def stage(self, unit_hash: str) -> Path:
        """Return a new empty folder for one drawing and its papers; what ended processes left behind is removed."""
        staging = self.folder / "staging"
        staging.mkdir(parents=True, exist_ok=True)
        for left in staging.iterdir():
            pid = left.name.partition("-")[0]
            if not pid.isdigit() or not is_running(int(pid)):
                shutil.rmtree(left, ignore_errors=True)
        staged = staging / f"{os.getpid()}-{unit_hash[:16]}"
        shutil.rmtree(staged, ignore_errors=True)
        staged.mkdir()
        return staged

    def publish(self, staged: Path, unit_hash: str) -> Path:
        """Move a whole unit to its name.

        Raises:
            UnitError: What was drawn is not whole.
        """
        check_drawn(staged, unit_hash)
        (staged / SUMS_FILE).write_text(json.dumps(_sums(staged), indent=1, sort_keys=True), encoding="utf-8")
        final = self.unit_dir(unit_hash)
        final.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.replace(staged, final)
        except OSError:
            self._replace(staged, unit_hash)
        return final

    def _replace(self, staged: Path, unit_hash: str) -> None:
        """Put a unit where a damaged one lies; a whole one, which another build drew meanwhile, stays."""
        try:
            self.check(unit_hash)
        except UnitError:
            final, old = self.unit_dir(unit_hash), staged.with_name("damaged")
            os.replace(final, old)
            os.replace(staged, final)


def read_clip(folder: Path) -> Clip:
    """Read a unit's ledger.

    Raises:
        UnitError: There is none, or it cannot be read.
    """
    try:
        return msgspec.json.decode((folder / CLIP_FILE).read_bytes(), type=Clip)
    except (OSError, msgspec.DecodeError) as error:
        raise UnitError(f"{CLIP_FILE}: {error}") from error


def check_drawn(folder: Path, unit_hash: str) -> Clip:
    """Hold a freshly drawn unit to its ledger: digests, sizes, and the number of frames of each segment.

    Raises:
        UnitError: Something differs.
    """
    clip = read_clip(folder)
    if clip.unit_hash != unit_hash:
        raise UnitError(f"its ledger names unit {clip.unit_hash[:12]}")
    expected = {pause.still: pause.still_sha256 for pause in clip.pauses}
    expected |= {segment.file: segment.sha256 for segment in clip.segments}
    found = _sums(folder)
    for name, sha256 in expected.items():
        if found.get(name) != sha256:
            raise UnitError(f"{name} is not the file that the ledger names")
    for segment in clip.segments:
        frames = _count_frames(folder / segment.file, clip)
        if frames != segment.num_frames:
            raise UnitError(f"{segment.file} has {frames} frames, the ledger says {segment.num_frames}")
    return clip


def is_running(pid: int) -> bool:
    """Return whether a process exists."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _count_frames(file: Path, clip: Clip) -> int:
    """Return a segment's length in frames; a held picture is one frame that lasts."""
    import av

    try:
        with av.open(str(file)) as container:
            stream = container.streams.video[0]
            if (stream.width, stream.height) != (clip.width_px, clip.height_px):
                raise UnitError(f"{file.name} is {stream.width} × {stream.height}")
            ends = [packet.pts * packet.time_base for packet in container.demux(stream) if packet.pts is not None]
    except (av.FFmpegError, IndexError) as error:
        raise UnitError(f"{file.name} cannot be opened: {error}") from error
    return round(max(ends, default=Fraction(-1, clip.fps)) * clip.fps) + 1


def _sums(folder: Path) -> dict[str, str]:
    files = (file for file in sorted(folder.iterdir()) if file.name != SUMS_FILE)
    return {file.name: digest(file.read_bytes()) for file in files}

"""Reading and writing trace sets: canonical JSON, digests, and errors a user can act on."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from traces.check import check_experiment
from traces.errors import TraceError
from traces.schema import SCHEMA_VERSION, Experiment, SetHeader

MAX_FILE_BYTES = 64 * 2**20
SHORT_HASH_CHARS = 8

_T = TypeVar("_T")


class _Versioned(msgspec.Struct):
    schema_version: int = -1


@dataclass(frozen=True, slots=True)
class TraceSet:
    """A loaded set: its header and its experiments by id, each with the digest of its file."""

    path: Path
    header: SetHeader
    experiments: dict[str, Experiment]
    sha256: dict[str, str]
    """Digest of the file of each experiment, by experiment id."""

    @property
    def name(self) -> str:
        """The set's name, as in ``set.json``."""
        return self.header.name

    def experiment(self, experiment_id: str) -> Experiment:
        """Return one experiment.

        Raises:
            TraceError: The set does not hold it.
        """
        if experiment_id not in self.experiments:
            raise TraceError(f"set {self.name!r} has no experiment {experiment_id!r}; record it with: spanreel profile")
        return self.experiments[experiment_id]

    def short_hash(self, experiment_id: str) -> str:
        """Return the digits of the experiment's digest that are shown on screen."""
        return self.sha256[experiment_id][:SHORT_HASH_CHARS]


def canonical_json(value: Any) -> bytes:
    """Encode with sorted keys, no spaces and a newline at the end, so that equal values are equal bytes."""
    return msgspec.json.encode(value, order="sorted") + b"\n"


def digest(data: bytes) -> str:
    """Return the sha256 of ``data`` in hex."""
    return hashlib.sha256(data).hexdigest()


def load_set(path: Path) -> TraceSet:
    """Load a set, check every file's digest and every invariant.

    Args:
        path: The folder that holds ``set.json``.

    Raises:
        TraceError: A file is missing, truncated, of another schema version, altered, or breaks an invariant.
    """
    header = _decode(path / "set.json", _read(path / "set.json"), SetHeader)
    experiments: dict[str, Experiment] = {}
    hashes: dict[str, str] = {}
    for name, expected in sorted(header.files.items()):
        if Path(name).name != name:
            raise TraceError(f"{path / 'set.json'}: file name {name!r} leaves the set; use a bare name")
        data = _read(path / name)
        actual = digest(data)
        experiment = _decode(path / name, data, Experiment)
        check_experiment(experiment, path / name)
        if actual != expected:
            raise TraceMismatchError(
                f"{path / name}: sha256 {actual[:12]}… is not the recorded {expected[:12]}…: the file was changed; "
                "restore it or record the set again with: spanreel profile"
            )
        experiments[experiment.id] = experiment
        hashes[experiment.id] = actual
    return TraceSet(path, header, experiments, hashes)


class TraceMismatchError(TraceError):
    """A well-formed file that is not the one the set was recorded with."""


def save_set(path: Path, header: SetHeader, experiments: dict[str, Experiment]) -> SetHeader:
    """Write a set; each file appears under its name only when it is whole.

    Args:
        path: The folder, created if absent.
        header: The header; its ``files`` are filled in here.
        experiments: The experiments by file name.

    Returns:
        The header as written.
    """
    path.mkdir(parents=True, exist_ok=True)
    hashes = dict(header.files)
    for name, experiment in experiments.items():
        check_experiment(experiment, path / name)
        data = canonical_json(experiment)
        hashes[name] = digest(data)
        _write(path / name, data)
    written = msgspec.structs.replace(header, files=hashes)
    _write(path / "set.json", canonical_json(written))
    return written


def _read(path: Path) -> bytes:
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise TraceError(f"{path}: larger than {MAX_FILE_BYTES // 2**20} MiB; record a smaller set")
        return path.read_bytes()
    except OSError as error:
        raise TraceError(
            f"{path}: {error.strerror or error}; record the set with: spanreel profile, or choose another with --set"
        ) from error


def _write(path: Path, data: bytes) -> None:
    staged = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        staged.write_bytes(data)
        os.replace(staged, path)
    finally:
        staged.unlink(missing_ok=True)  # there only if something went wrong, as on a full disk


def _decode(path: Path, data: bytes, record: type[_T]) -> _T:
    try:
        version = msgspec.json.decode(data, type=_Versioned).schema_version
    except msgspec.DecodeError as error:
        raise TraceError(f"{path}: not a whole trace file ({error}); restore it or record it again") from error
    if version == _Versioned().schema_version:
        raise TraceError(f"{path}: not a trace file, it names no schema version; restore it or record it again")
    if version != SCHEMA_VERSION:
        raise TraceError(
            f"{path}: schema version {version}, this spanreel reads {SCHEMA_VERSION}; "
            "record it again with: spanreel profile"
        )
    try:
        return msgspec.json.decode(data, type=record)
    except msgspec.ValidationError as error:
        raise TraceError(f"{path}: {error}; record it again with: spanreel profile") from error

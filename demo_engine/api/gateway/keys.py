"""The keys that open the API: the run's own token, which opens everything, and others with a name and limits."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import msgspec

from demo_engine.api.gateway.allowance import NO_LIMITS, Allowance, Limits
from demo_engine.errors import UsageError

MAX_FILE_BYTES = 1_000_000
MIN_KEY_CHARS = 16
MASTER = "master"
_Name = Annotated[str, msgspec.Meta(pattern="^[a-z0-9_-]{1,32}$")]
_Rate = Annotated[int, msgspec.Meta(ge=0, le=1_000_000_000)]


class KeyEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A key as the file has it; a limit that it leaves out is the server's, 0 is none."""

    name: _Name
    key: Annotated[str, msgspec.Meta(min_length=MIN_KEY_CHARS, max_length=256, pattern="^[!-~]*$")]
    requests_per_minute: _Rate | None = None
    tokens_per_minute: _Rate | None = None


class Caller:
    """Who holds a key, and what is left of the limits."""

    def __init__(self, name: str, limits: Limits) -> None:
        self.name = name
        self.is_master = name == MASTER
        self.allowance = Allowance(limits)


class KeyRing:
    """All keys, as their digests.

    Args:
        token: The run's own token.
        entries: Other keys.
        limits: Limits of each key that has none of its own, the token included.
    """

    def __init__(self, token: str, entries: Iterable[KeyEntry] = (), limits: Limits = NO_LIMITS) -> None:
        self._callers: dict[bytes, Caller] = {}
        for entry in entries:
            own = limits._replace(
                requests_per_minute=_first(entry.requests_per_minute, limits.requests_per_minute),
                tokens_per_minute=_first(entry.tokens_per_minute, limits.tokens_per_minute),
            )
            self._callers[_digest(entry.key)] = Caller(entry.name, own)
        self._callers[_digest(token)] = Caller(MASTER, limits)

    def caller(self, authorization: str) -> Caller | None:
        """Return whose key an ``Authorization`` header carries.

        The search is among digests, so that how long it takes says nothing about a key.
        """
        scheme, _, key = authorization.partition(" ")
        return self._callers.get(_digest(key)) if scheme == "Bearer" else None


def load_keys(path: Path) -> list[KeyEntry]:
    """Read a keys file: a JSON list of objects with ``name``, ``key`` and limits.

    Raises:
        UsageError: Others can read it, it is not such a list, or two entries have the same name or key.
    """
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise UsageError(f"keys file {path}: {error.strerror}") from error
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise UsageError(f"keys file {path}: others may read it; run: chmod 600 {path}")
    if len(data) > MAX_FILE_BYTES:
        raise UsageError(f"keys file {path}: larger than {MAX_FILE_BYTES} bytes")
    try:
        entries = msgspec.json.decode(data, type=list[KeyEntry])
    except msgspec.DecodeError as error:
        raise UsageError(f"keys file {path}: {error}") from error
    names = [entry.name for entry in entries]
    if len(set(names)) < len(names) or MASTER in names:
        raise UsageError(f"keys file {path}: every entry needs a name of its own, and none may be {MASTER!r}")
    if len({entry.key for entry in entries}) < len(entries):
        raise UsageError(f"keys file {path}: two entries have the same key")
    return entries


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()


def _first(own: int | None, common: int) -> int:
    return common if own is None else own

"""What is known of a server's start. All times are ``perf_counter_ns`` of the host, which its processes share."""

from __future__ import annotations

import msgspec

STAMPS = "stamps "
"""How a server's line of stamps begins."""


class StartStamps(msgspec.Struct, frozen=True):
    """What a server says of its start."""

    spawned_ns: int
    """The API process listened, and started the engine's."""
    imported_ns: int
    """The engine's process had its libraries, and began to load the model."""
    loaded_ns: int


class Launch(msgspec.Struct, frozen=True):
    """A start, as seen by the process that asked for it."""

    wall_ns: int
    perf_ns: int
    stamps: StartStamps

"""``python -m faulty_server serve …``: the server with one mistake, named by $MISTAKE, for checks that must find it."""

from __future__ import annotations

import os
import sys

from demo_engine.api import connection, replica, server, stream
from demo_engine.cli import main


async def say_nothing(response, error) -> None:
    """Let a stream that fails end in silence."""


async def stop_at_once(seats, stop, drain_s) -> None:
    """Let open requests have no time."""


def make_mistake(name: str) -> None:
    """Put one thing out of order."""
    match name:
        case "deaf":
            replica.Replica.cancel = lambda self, request_id: None
        case "silent":
            stream._break_off = say_nothing
        case "patient":
            connection.READ_DEADLINE_S = 1e6
        case "hasty":
            server._drain = stop_at_once
        case "dying":
            replica.SILENT_LOOKS = 1
        case "hopeful":
            replica.Replica.connection_lost = lambda self, exc: None
        case _:
            raise ValueError(name)


if __name__ == "__main__":
    make_mistake(os.environ["MISTAKE"])
    sys.exit(main(sys.argv[1:]))

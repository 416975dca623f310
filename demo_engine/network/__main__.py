"""``python -m demo_engine.network URL``: put a link, a proxy or both before a server, until standard input closes.

It prints the address at which the way begins, and the file with the link's certificate, as one line of JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import signal
import sys

import msgspec

from demo_engine.console import say
from demo_engine.errors import EngineError
from demo_engine.flags import add_flags, given_settings
from demo_engine.network.config import EdgeConfig
from demo_engine.network.edge import open_edge


def main() -> int:
    """Carry requests until told to stop; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m demo_engine.network", description=__doc__)
    parser.add_argument("url", help="the server, such as http://127.0.0.1:8000")
    add_flags(parser, EdgeConfig, "what stands before it")
    options = parser.parse_args()
    try:
        asyncio.run(_serve(options.url, EdgeConfig(**given_settings(options, EdgeConfig))))
    except EngineError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_code
    return 0


async def _serve(url: str, config: EdgeConfig) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def stdin_readable() -> None:
        if not os.read(sys.stdin.fileno(), 4096):
            stop.set()

    with contextlib.suppress(PermissionError):  # a file, such as /dev/null, cannot be watched: a signal is left
        loop.add_reader(sys.stdin.fileno(), stdin_readable)
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    async with open_edge(url, config) as address:
        say(msgspec.json.encode(address).decode())
        await stop.wait()


if __name__ == "__main__":
    sys.exit(main())

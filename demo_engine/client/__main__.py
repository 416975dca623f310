"""``python -m demo_engine.client URL MODEL``: run plans on standard input, results on standard output, a line each.

The token comes in the environment, so that it does not show in the list of processes.
"""

from __future__ import annotations

import asyncio
import os
import sys

import msgspec

from demo_engine.cli import TOKEN_VARIABLE
from demo_engine.client.call import Endpoint
from demo_engine.client.records import RunPlan
from demo_engine.client.run import run
from demo_engine.console import say
from demo_engine.errors import EngineError


def main() -> int:
    """Serve plans until the input ends."""
    endpoint = Endpoint(sys.argv[1], os.environ[TOKEN_VARIABLE], sys.argv[2])
    for line in sys.stdin:
        try:
            result = asyncio.run(run(endpoint, msgspec.json.decode(line, type=RunPlan)))
        except (EngineError, OSError) as error:
            sys.stderr.write(f"client: {error}\n")
            return 1
        say(msgspec.json.encode(result).decode())
    return 0


if __name__ == "__main__":
    sys.exit(main())

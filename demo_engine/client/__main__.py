"""``python -m demo_engine.client URL MODEL [EDGE]``: run plans on standard input, results on standard output.

Each takes a line. EDGE is what ``python -m demo_engine.network`` printed, if requests are to go through it. The token
comes in the environment, so that it does not show in the list of processes.
"""

from __future__ import annotations

import asyncio
import os
import sys

import msgspec

from demo_engine.cli import TOKEN_VARIABLE
from demo_engine.client.bracket import measure_bracket
from demo_engine.client.endpoint import Endpoint
from demo_engine.client.records import RunPlan
from demo_engine.client.run import run
from demo_engine.console import say
from demo_engine.errors import EngineError
from demo_engine.network.config import EdgeAddress

READY = "ready"
"""The first line of output: whatever takes long to import is there."""


def main() -> int:
    """Serve plans until the input ends."""
    edge = msgspec.json.decode(sys.argv[3], type=EdgeAddress) if len(sys.argv) > 3 else None
    endpoint = Endpoint(sys.argv[1], os.environ[TOKEN_VARIABLE], sys.argv[2], edge)
    say(READY)
    for line in sys.stdin:
        try:
            plan = msgspec.json.decode(line, type=RunPlan)
            result = asyncio.run(run(endpoint, plan, measure_bracket(endpoint)))
        except (EngineError, OSError) as error:
            sys.stderr.write(f"client: {error}\n")
            return 1
        say(msgspec.json.encode(result).decode())
    return 0


if __name__ == "__main__":
    sys.exit(main())

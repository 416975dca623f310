"""``python -m raising_server …`` serves as ``python -m demo_engine serve …`` does, on ``raising_engine``."""

from __future__ import annotations

import sys

from demo_engine.api import replica
from demo_engine.cli import main

if __name__ == "__main__":
    replica.ENGINE_MODULE = "raising_engine"
    sys.exit(main(sys.argv[1:]))

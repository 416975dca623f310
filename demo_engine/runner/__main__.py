"""``python -m demo_engine.runner FD MODEL CONFIG``: started by the API process with its end of a socket pair."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

from demo_engine.core.config import EngineConfig
from demo_engine.runner.process import run

if __name__ == "__main__":
    descriptor, model, config = sys.argv[1:]
    sys.exit(run(int(descriptor), Path(model), msgspec.json.decode(config, type=EngineConfig)))

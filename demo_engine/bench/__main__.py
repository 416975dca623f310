"""``python -m demo_engine.bench SIDE``: one side of a comparison; jobs on standard input, answers on output."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from typing import Any

import msgspec

from demo_engine.bench.jobs import ContextJob, DecodeJob, GreedyJob, Job, RecordingJob, Side
from demo_engine.console import say
from demo_engine.errors import EngineError

READY = "ready"


def load(side: Side) -> dict[type, Callable[[Any], Any]]:
    """Load the side's model; return what does each kind of job that it can do."""
    if side.kind == "engine":
        from demo_engine.bench.engine_side import EngineSide

        ours = EngineSide(side)
        return {
            DecodeJob: ours.decode, GreedyJob: ours.greedy, ContextJob: ours.context, RecordingJob: ours.recording
        }  # fmt: skip
    from demo_engine.bench.peers import LlamaCppSide, TransformersSide

    if side.kind == "llama-cpp":
        return {DecodeJob: LlamaCppSide(side).decode}
    theirs = TransformersSide(side)
    return {DecodeJob: theirs.decode, GreedyJob: theirs.greedy}


def main() -> int:
    """Serve jobs until the input ends."""
    logging.disable(logging.WARNING)
    try:
        performers = load(msgspec.json.decode(sys.argv[1], type=Side))
        say(READY)
        for line in sys.stdin:
            job: Any = msgspec.json.decode(line, type=Job)
            say(msgspec.json.encode(performers[type(job)](job)).decode())
    except EngineError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_code
    except Exception as error:
        sys.stderr.write(f"error: {type(error).__name__}: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The start of a server as the beginning of the path of the first request, which waited for it.

All times are ``perf_counter_ns`` of the host, which all its processes share.
"""

from __future__ import annotations

from itertools import pairwise

import msgspec

from demo_engine.client.records import RunResult
from demo_engine.errors import EngineError
from demo_engine.recorder.span_types import span_types
from traces.schema import Request, Run, SpanRow

STAMPS = "stamps "
"""How a server's line of stamps begins."""
_NAMES = ("launch", "imports", "load", "ready", "prepare")
_INDEX = {span_type.name: index for index, span_type in enumerate(span_types(0))}


class StartStamps(msgspec.Struct, frozen=True):
    """What a server says of its start."""

    spawned_ns: int
    """The API process was ready to listen, and started the engine's."""
    imported_ns: int
    """The engine's process had its libraries, and began to load the model."""
    loaded_ns: int


class Launch(msgspec.Struct, frozen=True):
    """A start, as seen by the process that asked for it."""

    wall_ns: int
    perf_ns: int
    stamps: StartStamps


def from_launch(result: RunResult, launch: Launch) -> RunResult:
    """Return the run as if its first request had been meant for the moment at which the server was asked for."""
    first, *others = result.calls
    client = msgspec.structs.replace(first.client, intended_start_ns=launch.perf_ns)
    return msgspec.structs.replace(
        result,
        start_wall_ns=launch.wall_ns,
        start_perf_ns=launch.perf_ns,
        calls=[msgspec.structs.replace(first, client=client), *others],
    )


def name_start(run: Run, launch: Launch, sent_ns: int) -> Run:
    """Return a joined run whose first request says what it waited for before the client prepared it.

    Args:
        run: Joined from what ``from_launch`` returned.
        launch: The start.
        sent_ns: When the client meant to send the request, once the server was ready.

    Raises:
        EngineError: The stamps are not in order.
    """
    first, *others = run.requests
    waited, *rows = first.spans
    stamps = launch.stamps
    edges = [stamps.spawned_ns, stamps.imported_ns, stamps.loaded_ns, sent_ns]
    edges_ns = [0, *(edge - launch.perf_ns for edge in edges), waited.duration_ns]
    if edges_ns != sorted(edges_ns):
        raise EngineError(f"the parts of a start are not in order: {edges_ns}")
    start = [
        SpanRow(_INDEX[name], -1, begin, end - begin)
        for name, (begin, end) in zip(_NAMES, pairwise(edges_ns), strict=True)
    ]
    return msgspec.structs.replace(run, requests=[_with_spans(first, [*start, *rows]), *others])


def _with_spans(request: Request, spans: list[SpanRow]) -> Request:
    return msgspec.structs.replace(request, spans=spans)

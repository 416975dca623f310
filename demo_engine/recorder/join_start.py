"""A server's start as the beginning of the path of the first request, which waited for it."""

from __future__ import annotations

from itertools import pairwise

from msgspec import structs

from demo_engine.client.records import RunPlan, RunResult
from demo_engine.errors import EngineError
from demo_engine.recorder.join import Phase, join_run
from demo_engine.recorder.span_types import span_types
from demo_engine.recorder.startup import Launch
from traces.schema import Run, SpanRow

_NAMES = ("launch", "imports", "load", "ready", "prepare")
_INDEX = {span_type.name: index for index, span_type in enumerate(span_types(0))}


def join_started_run(plan: RunPlan, result: RunResult, launch: Launch, phase: Phase = "measure") -> Run:
    """Join a run as if its first request had been meant for the moment at which the server was asked for.

    Args:
        plan: What was asked.
        result: Both sides of every request, in the plan's order.
        launch: The start that came before.
        phase: Whether the run counts.

    Raises:
        EngineError: An event was stamped before the one that caused it, or no request was completed.
    """
    sent_ns = result.calls[0].client.intended_start_ns
    run = join_run(plan, _moved(result, launch), phase)
    first, *others = run.requests
    waited, *rows = first.spans  # from the launch until a connection is asked for
    stamps = launch.stamps
    instants = (stamps.spawned_ns, stamps.imported_ns, stamps.loaded_ns, sent_ns)
    edges_ns = [0, *(at - launch.perf_ns for at in instants), waited.duration_ns]
    if edges_ns != sorted(edges_ns):
        raise EngineError(f"the parts of a server's start are not in order: {edges_ns}")
    start = [
        SpanRow(_INDEX[name], -1, begin, end - begin)
        for name, (begin, end) in zip(_NAMES, pairwise(edges_ns), strict=True)
    ]
    return structs.replace(run, requests=[structs.replace(first, spans=[*start, *rows]), *others])


def _moved(result: RunResult, launch: Launch) -> RunResult:
    first, *others = result.calls
    client = structs.replace(first.client, intended_start_ns=launch.perf_ns)
    return structs.replace(
        result,
        start_wall_ns=launch.wall_ns,
        start_perf_ns=launch.perf_ns,
        calls=[structs.replace(first, client=client), *others],
    )

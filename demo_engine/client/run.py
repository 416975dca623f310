"""One run: all its requests, each at its intended start, whatever became of the others."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field

import aiohttp

from demo_engine.client.call import LEAD_NS, fetch_trace, send
from demo_engine.client.connections import Connections
from demo_engine.client.endpoint import Endpoint
from demo_engine.client.records import After, Call, CallRecord, CallResult, RunPlan, RunResult
from demo_engine.errors import EngineError
from demo_engine.network.config import EdgeConfig


@dataclass(frozen=True)
class _Track:
    """One request on its way."""

    call: Call
    record: CallRecord
    news: asyncio.Condition = field(default_factory=asyncio.Condition)


async def run(endpoint: Endpoint, plan: RunPlan, bracket_ns: int | None = None) -> RunResult:
    """Carry out a run; a request that fails says why in its result and leaves the others alone.

    The server's side is fetched when all replies are over, so that it does not disturb them.

    Args:
        endpoint: The server.
        plan: What to ask of it.
        bracket_ns: How well its clock is known, if that was measured; goes into the result.

    Raises:
        EngineError: The server no longer knows a request that it completed.
    """
    async with Connections(endpoint, plan.use) as connections:
        wall_ns, perf_ns = time.time_ns(), time.perf_counter_ns()
        zero_ns = perf_ns + LEAD_NS
        tracks = {call.id: _Track(call, CallRecord(zero_ns + round(call.at_ms * 1e6))) for call in plan.calls}
        tasks: dict[str, asyncio.Task[str | None]] = {}
        for track in tracks.values():
            tasks[track.call.id] = asyncio.create_task(_carry_out(endpoint, connections, track, tracks, tasks))
        failures = await asyncio.gather(*tasks.values())
        end_wall_ns, end_perf_ns = time.time_ns(), time.perf_counter_ns()
        results = []
        for track, failure in zip(tracks.values(), failures, strict=True):
            server = None if failure else await fetch_trace(endpoint, connections, track.record.request_id)
            results.append(CallResult(track.record, server, failure))
    edge = EdgeConfig() if endpoint.edge is None else endpoint.edge.config
    return RunResult(wall_ns, perf_ns, end_wall_ns, end_perf_ns, results, edge, bracket_ns)


async def _carry_out(
    endpoint: Endpoint,
    connections: Connections,
    track: _Track,
    tracks: dict[str, _Track],
    tasks: dict[str, asyncio.Task[str | None]],
) -> str | None:
    """Send one request at its time; return why it failed, or ``None``."""
    try:
        after = track.call.after
        if after is not None:
            track.record.intended_start_ns = await _meeting_point(after, tracks[after.call], tasks[after.call])
        await send(endpoint, connections, track.call, track.record, track.news)
    except (EngineError, OSError, aiohttp.ClientError, TimeoutError) as error:
        track.record.end_ns = time.perf_counter_ns()
        return str(error) or type(error).__name__
    finally:
        async with track.news:
            track.news.notify_all()
    return None


async def _meeting_point(after: After, earlier: _Track, task: asyncio.Task[str | None]) -> int:
    """Wait until the earlier request decodes steadily; return an instant inside the step that it is in."""
    num_events = after.tokens + earlier.call.chat  # a chat's first event carries the role alone
    event_ns = earlier.record.event_ns
    async with earlier.news:
        while len(event_ns) < num_events:
            if earlier.record.end_ns or task.done():
                raise EngineError(f"{after.call} was over before this request began")
            await earlier.news.wait()
    return event_ns[-1] + int((event_ns[-1] - event_ns[-2]) * after.step_share)

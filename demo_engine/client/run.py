"""One run: the subject's request, and the neighbour whose running step it meets."""

from __future__ import annotations

import asyncio
import time

from demo_engine.client.call import LEAD_NS, Endpoint, send
from demo_engine.client.records import CallRecord, RunPlan, RunResult
from demo_engine.errors import EngineError


async def run(endpoint: Endpoint, plan: RunPlan) -> RunResult:
    """Carry out a run.

    Raises:
        EngineError: A request failed, or the neighbour was over before the subject.
    """
    wall_ns, perf_ns = time.time_ns(), time.perf_counter_ns()
    if plan.neighbour is None:
        subject = await send(endpoint, plan.subject, CallRecord(perf_ns + LEAD_NS), asyncio.Event())
        return RunResult(wall_ns, perf_ns, time.time_ns(), time.perf_counter_ns(), subject)
    record, news = CallRecord(perf_ns + LEAD_NS), asyncio.Event()
    beside = asyncio.create_task(send(endpoint, plan.neighbour, record, news))
    start_ns = await _meeting_point(plan, record, news, beside)
    subject = await send(endpoint, plan.subject, CallRecord(start_ns), asyncio.Event())
    neighbour = await beside
    if neighbour.server.tokens.sample_ns[-1] < subject.server.tokens.sample_ns[-1]:
        raise EngineError("the neighbour was over before the subject; give it more tokens")
    return RunResult(wall_ns, perf_ns, time.time_ns(), time.perf_counter_ns(), subject, neighbour)


async def _meeting_point(
    plan: RunPlan, record: CallRecord, news: asyncio.Event, neighbour: asyncio.Task[object]
) -> int:
    """Wait until the neighbour decodes steadily; return an instant inside the step that it is in."""
    num_events = plan.neighbour_tokens + 1  # the first event carries the role alone
    while len(record.event_ns) < num_events:
        if neighbour.done():
            raise EngineError("the neighbour was over before the subject began")
        await news.wait()
        news.clear()
    step_ns = record.event_ns[-1] - record.event_ns[-2]
    return record.event_ns[-1] + int(step_ns * plan.step_share)

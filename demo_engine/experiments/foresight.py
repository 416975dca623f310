"""What a load will take, from the calibration alone: the real scheduler, with the time of each step predicted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from demo_engine.core.config import EngineConfig
from demo_engine.core.request import EngineRequest, SamplingParams
from demo_engine.core.scheduler import Scheduler
from demo_engine.experiments.context import Context


class Arrival(NamedTuple):
    """A request that will come."""

    id: str
    prompt_tokens: int
    output_tokens: int
    at_ms: float


def foresee_ends_ns(context: Context, engine: EngineConfig, arrivals: Sequence[Arrival]) -> dict[str, float]:
    """Return when the engine will have made each request's last token, from the first arrival.

    Args:
        context: Predicts the time of each step.
        engine: Its settings decide what a step computes.
        arrivals: In the order in which they come; every prompt is new to the engine.
    """
    scheduler = Scheduler(engine)
    coming = list(arrivals)
    zero_ns = now_ns = coming[0].at_ms * 1e6
    ends_ns: dict[str, float] = {}
    while len(ends_ns) < len(arrivals):
        while coming and (coming[0].at_ms * 1e6 <= now_ns or not list(scheduler)):
            arrival = coming.pop(0)
            now_ns = max(now_ns, arrival.at_ms * 1e6)
            scheduler.add(_request(arrival))
        items = scheduler.plan().items
        now_ns += context.step_ns([(item.start, item.num_tokens) for item in items])
        for item in items:
            if item.samples:
                item.request.output_ids.append(0)
            scheduler.computed(item)
            if len(item.request.output_ids) == item.request.sampling.max_tokens:
                scheduler.remove(item.request)
                ends_ns[item.request.id] = now_ns - zero_ns
    return ends_ns


def _request(arrival: Arrival) -> EngineRequest:
    return EngineRequest(arrival.id, (0,) * arrival.prompt_tokens, SamplingParams(arrival.output_tokens))

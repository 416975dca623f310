"""What a step costs without a model: planning, blocks, handing out, recording; with few and with many waiting.

All of it is work of one thread, so its processor time is counted, whatever else runs on the machine.
"""

from __future__ import annotations

import statistics
import time

from demo_engine.bench.figures import Figure, Target
from demo_engine.bench.null_runner import Finished, NullRunner
from demo_engine.core.config import EngineConfig
from demo_engine.core.loop import EngineLoop
from demo_engine.core.request import EngineRequest, SamplingParams

NUM_RUNNING = 64
PROMPT_TOKENS = 64
OUTPUT_TOKENS = 16
"""Of a request under churn: a sixteenth of the batch leaves with each step, and as many arrive and are let in."""
FEW, MANY = 100, 10_000
STEPS_A_TURN = 20
UNIT = "µs a step"
_LONG = 4000
_CONFIG = EngineConfig(max_num_seqs=NUM_RUNNING, num_kv_blocks=32_768, max_num_batched_tokens=8192)


class Churn:
    """An engine with a full batch and a queue that stays as long as it is."""

    def __init__(self, num_waiting: int) -> None:
        self._finished = Finished()
        self._loop = EngineLoop(_CONFIG, NullRunner(), self._finished, time.perf_counter_ns)
        self.num_arrived = 0
        for index in range(NUM_RUNNING + num_waiting):
            self._arrive(1 + index % OUTPUT_TOKENS if index < NUM_RUNNING else OUTPUT_TOKENS)

    @property
    def num_running(self) -> int:
        """Requests in the batch."""
        return len(self._loop.scheduler.running)

    @property
    def num_waiting(self) -> int:
        """Requests in the queue."""
        return len(self._loop.scheduler.waiting)

    def turn(self) -> float:
        """Make some steps and return what one took, its arrivals included, in µs."""
        start_ns = time.thread_time_ns()
        for _ in range(STEPS_A_TURN):
            self._finished.count = 0
            self._loop.step()
            for _ in range(self._finished.count):
                self._arrive(OUTPUT_TOKENS)
        return (time.thread_time_ns() - start_ns) / STEPS_A_TURN / 1000

    def _arrive(self, max_tokens: int) -> None:
        self.num_arrived += 1
        self._loop.submit(_request(self.num_arrived, max_tokens))


def scheduling_figures(num_turns: int) -> list[Figure]:
    """Measure a step of 64 running requests, alone, and with 100 and 10,000 waiting in turn."""
    few, many = Churn(FEW), Churn(MANY)
    few_us, many_us = [], []
    for _ in range(num_turns):
        few_us.append(few.turn())
        many_us.append(many.turn())
    baseline = f"the same with {FEW} waiting; {NUM_RUNNING} running, {OUTPUT_TOKENS} tokens each, arrivals included"
    short, long = statistics.median(few_us), statistics.median(many_us)
    return [
        Figure(f"sched_us_{NUM_RUNNING}", _decode_step_us(num_turns), UNIT, target=Target(150, "at most")),
        Figure(f"sched_waiting_{FEW}", short, UNIT),
        Figure(f"sched_waiting_{MANY}", long, UNIT, baseline, short, Target(1.5, "at most", of="ratio")),
    ]


def _decode_step_us(num_turns: int) -> float:
    """Return the median step in which all running requests decode and nobody waits, in µs."""
    loop = EngineLoop(_CONFIG, NullRunner(), Finished(), time.perf_counter_ns)
    for index in range(NUM_RUNNING):
        loop.submit(_request(index, _LONG))
    loop.step()
    steps_us = []
    for _ in range(min(num_turns * STEPS_A_TURN, _LONG - 2)):
        start_ns = time.thread_time_ns()
        loop.step()
        steps_us.append((time.thread_time_ns() - start_ns) / 1000)
    return statistics.median(steps_us)


def _request(number: int, max_tokens: int) -> EngineRequest:
    return EngineRequest(f"r{number}", tuple(range(number, number + PROMPT_TOKENS)), SamplingParams(max_tokens))

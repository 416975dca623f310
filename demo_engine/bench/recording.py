"""A recorder with a switch, so that the same steps can be made with it and without it.

Recording is work of the processor, so steps are compared by this thread's processor time: other programs on the
machine can then delay the comparison, but not pass for a cost of recording.
"""

from __future__ import annotations

import statistics
import time

from demo_engine.bench.jobs import Recorded
from demo_engine.bench.paired import abba_differences
from demo_engine.core.loop import EngineLoop
from demo_engine.core.step_log import StepLog

INSTANTS_A_STEP = 5


class Switch:
    """Whether instants are read and written down.

    Args:
        planted_ns: What each instant costs on top, so that it can be seen whether a comparison finds it.
    """

    def __init__(self, planted_ns: int = 0) -> None:
        self.is_on = True
        self._planted_ns = planted_ns

    def clock_ns(self) -> int:
        """Read the clock, or not."""
        if not self.is_on:
            return 0
        if self._planted_ns:
            end_ns = time.thread_time_ns() + self._planted_ns
            while time.thread_time_ns() < end_ns:
                pass
        return time.perf_counter_ns()


class SwitchedLog(StepLog):
    """A log that forgets what comes while the switch is off."""

    def __init__(self, switch: Switch) -> None:
        super().__init__()
        self._switch = switch

    def append(self, values: tuple[int, ...], request_ids: tuple[str, ...], preempted_ids: tuple[str, ...]) -> None:
        """Record a step, or only count it."""
        if self._switch.is_on:
            super().append(values, request_ids, preempted_ids)
        else:
            self.num_steps += 1


def compare(loop: EngineLoop, switch: Switch, num_rounds: int, steps_a_turn: int) -> Recorded:
    """Make steps with recording on, off, off, on, round by round.

    Args:
        loop: An engine with enough work, whose clock is the switch's.
        switch: Turns its recorder on and off.
        num_rounds: How often.
        steps_a_turn: Steps between two turns of the switch.
    """
    loop.log = SwitchedLog(switch)
    without_ns: list[float] = []

    def turn(is_on: bool) -> float:
        switch.is_on = is_on
        start_ns = time.thread_time_ns()
        for _ in range(steps_a_turn):
            loop.step()
        step_ns = (time.thread_time_ns() - start_ns) / steps_a_turn
        if not is_on:
            without_ns.append(step_ns)
        return step_ns

    turn(True)
    added_ns = abba_differences(lambda: turn(True), lambda: turn(False), num_rounds)
    return Recorded(added_ns, statistics.median(without_ns))

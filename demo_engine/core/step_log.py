"""The recorder of the engine: one row a step, written into memory that was allocated beforehand."""

from __future__ import annotations

from array import array
from typing import NamedTuple

COLUMNS = (
    "start_ns", "plan_ns", "forward_ns", "sample_ns", "emit_ns", "prefill_tokens", "cached_tokens", "decode_tokens",
    "running", "waiting", "kv_blocks_used", "weight_bytes", "kv_bytes", "flops", "mask_ns",
    "draft_tokens", "accepted_tokens",
)  # fmt: skip
_WIDTH = len(COLUMNS)


class StepTimes(NamedTuple):
    """Five instants of a step; the four intervals between them touch."""

    start_ns: int
    planned_ns: int
    forwarded_ns: int
    sampled_ns: int
    emitted_ns: int

    def row(self) -> tuple[int, int, int, int, int]:
        """Return the start and the four durations: plan, forward, sample, emit."""
        return (
            self.start_ns,
            self.planned_ns - self.start_ns,
            self.forwarded_ns - self.planned_ns,
            self.sampled_ns - self.forwarded_ns,
            self.emitted_ns - self.sampled_ns,
        )


class StepLog:
    """The last ``capacity`` steps as rows of integers; steps are numbered from 0 and never renumbered."""

    def __init__(self, capacity: int = 1 << 16) -> None:
        self._capacity = capacity
        self._rows = memoryview(array("q", bytes(8 * capacity * _WIDTH)))  # one row behind the other
        self._request_ids: list[tuple[str, ...]] = [()] * capacity
        self._preempted_ids: list[tuple[str, ...]] = [()] * capacity
        self.num_steps = 0
        self.num_preemptions = 0

    def append(self, values: tuple[int, ...], request_ids: tuple[str, ...], preempted_ids: tuple[str, ...]) -> None:
        """Record a step.

        Args:
            values: One integer a column, in the order of ``COLUMNS``.
            request_ids: The requests that it computed.
            preempted_ids: The requests that lost their blocks when it was planned.
        """
        slot = self.num_steps % self._capacity
        self._rows[slot * _WIDTH : (slot + 1) * _WIDTH] = array("q", values)
        self._request_ids[slot] = request_ids
        self._preempted_ids[slot] = preempted_ids
        self.num_preemptions += len(preempted_ids)
        self.num_steps += 1

    def oldest(self) -> int:
        """Return the number of the oldest step that is still here."""
        return max(0, self.num_steps - self._capacity)

    def columns(self, first: int, last: int) -> dict[str, list[int]]:
        """Return the integer columns of steps ``first`` to ``last``, both included."""
        slots = self._slots(first, last)
        return {name: [self._rows[s * _WIDTH + index] for s in slots] for index, name in enumerate(COLUMNS)}

    def ids(self, first: int, last: int) -> tuple[list[list[str]], list[list[str]]]:
        """Return the request ids, and the ids of the preempted, of steps ``first`` to ``last``, both included."""
        slots = self._slots(first, last)
        return [list(self._request_ids[s]) for s in slots], [list(self._preempted_ids[s]) for s in slots]

    def _slots(self, first: int, last: int) -> list[int]:
        if first < self.oldest() or last >= self.num_steps:
            raise IndexError(f"steps {first} to {last} are not in the log ({self.oldest()} to {self.num_steps - 1})")
        return [step % self._capacity for step in range(first, last + 1)]

"""The routing policies as pure functions: from what is known of the replicas to the one that is chosen, and why."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Sequence
from typing import NamedTuple

WAITING_WEIGHT = 4
"""A request that waits stands for this many that run, as in vLLM's own balancer."""


class Candidate(NamedTuple):
    """A replica that could serve the request."""

    replica: int
    num_waiting: int
    num_running: int

    @property
    def load(self) -> int:
        """What the replicas are compared by."""
        return WAITING_WEIGHT * self.num_waiting + self.num_running


class Decision(NamedTuple):
    """The chosen replica, by its number, and the rule that chose it."""

    replica: int
    reason: str


def round_robin(candidates: Sequence[Candidate], last_replica: int) -> Decision:
    """Take the next replica after the one that was chosen last."""
    numbers = sorted(candidate.replica for candidate in candidates)
    following = [number for number in numbers if number > last_replica]
    return Decision((following or numbers)[0], "next in turn")


def least_loaded(candidates: Sequence[Candidate]) -> Decision:
    """Take the replica with the least load; of several the first."""
    least = min(candidates, key=lambda candidate: (candidate.load, candidate.replica))
    return Decision(least.replica, "least loaded")


def by_prefix(candidates: Sequence[Candidate], prefix: bytes, load_cap: int | None = None) -> Decision:
    """Take the replica that a prefix belongs to.

    A prefix belongs to the replica with the highest hash of both (Thaler and Ravishankar, 1998), so a replica that is
    lost, or comes back, moves its own prefixes and no others.

    Args:
        candidates: The replicas that could serve the request.
        prefix: The beginning of the prompt.
        load_cap: How much more load than the least loaded replica the prefix's own may have; None: any.
    """
    own = max(candidates, key=lambda candidate: _weight(prefix, candidate.replica))
    least = min(candidate.load for candidate in candidates)
    if load_cap is not None and own.load - least > load_cap:
        return Decision(least_loaded(candidates).replica, "least loaded: the prefix's replica is over its cap")
    return Decision(own.replica, "prefix")


def prefix_of(prompt_ids: Sequence[int], block_size: int, num_blocks: int) -> bytes:
    """Return what a prompt is told apart by: its first blocks, or the full ones that it has, or all if it has none."""
    num_full = len(prompt_ids) // block_size
    num_tokens = min(num_full, num_blocks) * block_size or len(prompt_ids)
    return array("q", prompt_ids[:num_tokens]).tobytes()


def _weight(prefix: bytes, replica: int) -> bytes:
    return hashlib.blake2b(prefix, digest_size=8, salt=replica.to_bytes(8, "little")).digest()

"""The routing policies: from what is known of the replicas to the one that is chosen, and why."""

from __future__ import annotations

import hashlib
from array import array
from collections import Counter, OrderedDict
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


class PrefixOwners:
    """Remembers which replica each prefix went to first, and so which of them holds its blocks.

    Args:
        capacity: How many prefixes are remembered; the one that was asked for longest ago is forgotten first.
    """

    def __init__(self, capacity: int = 4096) -> None:
        self._capacity = capacity
        self._owners: OrderedDict[bytes, int] = OrderedDict()
        self._num_owned: Counter[int] = Counter()

    def owner(self, prefix: bytes) -> int | None:
        """Return the replica that a prefix belongs to, if it belongs to one."""
        if prefix in self._owners:
            self._owners.move_to_end(prefix)
        return self._owners.get(prefix)

    def num_owned(self, replica: int) -> int:
        """Return how many prefixes belong to a replica."""
        return self._num_owned[replica]

    def give(self, prefix: bytes, replica: int) -> None:
        """Let a prefix belong to a replica from now on."""
        self._take(prefix)
        self._owners[prefix] = replica
        self._num_owned[replica] += 1
        if len(self._owners) > self._capacity:
            self._take(next(iter(self._owners)))

    def _take(self, prefix: bytes) -> None:
        if prefix in self._owners:
            self._num_owned[self._owners.pop(prefix)] -= 1


def by_prefix(
    candidates: Sequence[Candidate], owners: PrefixOwners, prefix: bytes, load_cap: int | None = None
) -> Decision:
    """Take the replica that a prefix belongs to.

    A new prefix, or one whose replica is not there, goes to the least loaded replica, of several to the one with the
    fewest prefixes, and belongs to it from then on. One that is turned away by the cap keeps its replica.

    Args:
        candidates: The replicas that could serve the request.
        owners: Who owns which prefix; written to.
        prefix: What the beginning of the prompt is told apart by.
        load_cap: How much more load than the least loaded replica the prefix's own may have; None: any.
    """
    least = min(candidates, key=lambda candidate: (candidate.load, owners.num_owned(candidate.replica)))
    owner = owners.owner(prefix)
    own = next((candidate for candidate in candidates if candidate.replica == owner), None)
    if own is None:
        owners.give(prefix, least.replica)
        return Decision(least.replica, "new prefix: least loaded")
    if load_cap is not None and own.load - least.load > load_cap:
        return Decision(least.replica, "prefix over its cap: least loaded")
    return Decision(own.replica, "prefix")


def prefix_of(prompt_ids: Sequence[int], block_size: int, num_blocks: int) -> bytes:
    """Return what a prompt is told apart by: the hash of its first blocks.

    Of a shorter prompt the full blocks count; one that has none is told apart by all of it.
    """
    num_full = len(prompt_ids) // block_size
    num_tokens = min(num_full, num_blocks) * block_size or len(prompt_ids)
    return hashlib.blake2b(array("q", prompt_ids[:num_tokens]).tobytes(), digest_size=16).digest()

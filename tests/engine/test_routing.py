"""The routing policies, for any number of replicas under any load."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from demo_engine.api.routing import Candidate, PrefixOwners, by_prefix, least_loaded, prefix_of, round_robin

LOADS = st.tuples(st.integers(0, 50), st.integers(0, 50))
CANDIDATES = st.dictionaries(st.integers(0, 7), LOADS, min_size=1).map(
    lambda loads: [Candidate(replica, *load) for replica, load in loads.items()]
)
PREFIXES = st.binary(max_size=64)


def test_a_waiting_request_weighs_as_much_as_four_running_ones():
    """One that waits is preferred to five that run, and five that run to two that wait."""
    assert least_loaded([Candidate(0, 0, 5), Candidate(1, 1, 0)]).replica == 1
    assert least_loaded([Candidate(0, 0, 5), Candidate(1, 2, 0)]).replica == 0


@given(CANDIDATES)
def test_least_loaded_takes_none_that_has_more_than_another(candidates):
    """Whatever the loads, nobody has less than the chosen one."""
    chosen = least_loaded(candidates).replica
    load = next(candidate.load for candidate in candidates if candidate.replica == chosen)
    assert all(load <= candidate.load for candidate in candidates)


@given(CANDIDATES, st.integers(-1, 7))
def test_round_robin_serves_every_replica_once_before_any_twice(candidates, last):
    """From any starting point, one turn meets each replica that is ready exactly once."""
    turn = []
    for _ in candidates:
        last = round_robin(candidates, last).replica
        turn.append(last)
    assert sorted(turn) == sorted(candidate.replica for candidate in candidates)


@given(CANDIDATES, PREFIXES, st.lists(LOADS, min_size=8, max_size=8))
def test_a_prefix_keeps_its_replica_whatever_the_loads(candidates, prefix, loads):
    """Without a cap what went to a replica once goes there again, however long its line is."""
    owners = PrefixOwners()
    own = by_prefix(candidates, owners, prefix).replica
    others = [Candidate(candidate.replica, *loads[candidate.replica]) for candidate in reversed(candidates)]
    assert by_prefix(others, owners, prefix) == (own, "prefix")


@given(CANDIDATES, PREFIXES)
def test_a_new_prefix_goes_where_the_least_is_to_do(candidates, prefix):
    """Nobody has less than the replica that it goes to."""
    loads = {candidate.replica: candidate.load for candidate in candidates}
    assert loads[by_prefix(candidates, PrefixOwners(), prefix).replica] == min(loads.values())


@given(st.integers(1, 8), st.lists(PREFIXES, unique=True, max_size=40))
def test_new_prefixes_are_dealt_out_evenly_to_idle_replicas(num_replicas, prefixes):
    """No replica owns two prefixes more than another."""
    owners = PrefixOwners()
    candidates = [Candidate(replica, 0, 0) for replica in range(num_replicas)]
    for prefix in prefixes:
        by_prefix(candidates, owners, prefix)
    owned = [owners.num_owned(candidate.replica) for candidate in candidates]
    assert sum(owned) == len(prefixes)
    assert max(owned) - min(owned) <= 1


@given(CANDIDATES.filter(lambda candidates: len(candidates) > 1), st.lists(PREFIXES, unique=True, max_size=20))
def test_a_lost_replica_moves_its_own_prefixes_only(candidates, prefixes):
    """Those of the others stay; its own find a new owner and keep it when the lost one is back."""
    owners = PrefixOwners()
    before = {prefix: by_prefix(candidates, owners, prefix).replica for prefix in prefixes}
    lost, *left = candidates
    for prefix, own in before.items():
        moved = by_prefix(left, owners, prefix).replica
        assert (moved == own) == (own != lost.replica)
        assert by_prefix(candidates, owners, prefix) == (moved, "prefix")


@given(CANDIDATES, PREFIXES, st.integers(0, 7), st.integers(0, 100))
def test_the_cap_sends_a_prefix_to_the_least_loaded_replica_when_its_own_has_too_much(candidates, prefix, index, cap):
    """At the cap it is loyal still; above it the shortest line serves, the reason says so, and it stays its own."""
    owners = PrefixOwners()
    own = candidates[index % len(candidates)]
    owners.give(prefix, own.replica)
    capped = by_prefix(candidates, owners, prefix, cap)
    loads = {candidate.replica: candidate.load for candidate in candidates}
    if own.load <= min(loads.values()) + cap:
        assert capped == (own.replica, "prefix")
    else:
        assert loads[capped.replica] == min(loads.values())
        assert "cap" in capped.reason
    assert owners.owner(prefix) == own.replica


@given(st.lists(st.tuples(st.binary(max_size=1), st.integers(0, 3)), max_size=60), st.integers(1, 8))
def test_owners_remember_no_more_than_they_may(gifts, capacity):
    """The last ones given are there, and the counts are those of what is remembered."""
    owners = PrefixOwners(capacity)
    for prefix, replica in gifts:
        owners.give(prefix, replica)
    latest = dict(gifts)
    recent = list(dict.fromkeys(prefix for prefix, _ in reversed(gifts)))
    for prefix in recent[:capacity]:
        assert owners.owner(prefix) == latest[prefix]
    for prefix in recent[capacity:]:
        assert owners.owner(prefix) is None
    assert sum(owners.num_owned(replica) for replica in range(4)) == min(len(recent), capacity)


@given(st.lists(st.integers(0, 49_151), max_size=100), st.integers(1, 32), st.integers(1, 8), st.integers(0, 49_151))
def test_prompts_that_share_their_first_blocks_share_their_prefix(prompt, block_size, num_blocks, other):
    """What follows the blocks changes nothing; a token inside them does."""
    reach = block_size * num_blocks
    if len(prompt) < reach:
        prompt = prompt + [1] * (reach - len(prompt))
    prefix = prefix_of(prompt, block_size, num_blocks)
    assert prefix_of([*prompt, other], block_size, num_blocks) == prefix
    assert (prefix_of([other, *prompt[1:]], block_size, num_blocks) == prefix) == (other == prompt[0])


def test_a_prompt_without_a_full_block_is_its_own_prefix():
    """Short prompts are told apart by all that they have."""
    assert prefix_of([1, 2], 16, 4) != prefix_of([1, 3], 16, 4)
    assert prefix_of([1] * 20, 16, 4) == prefix_of([1] * 16 + [2] * 9, 16, 4)

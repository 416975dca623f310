"""The routing policies, for any number of replicas under any load."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from demo_engine.api.routing import Candidate, by_prefix, least_loaded, prefix_of, round_robin

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


@given(CANDIDATES, PREFIXES, LOADS)
def test_a_prefix_keeps_its_replica_whatever_the_loads(candidates, prefix, load):
    """Without a cap the choice depends on the prefix and on who is there alone, not on load or order."""
    others = [Candidate(candidate.replica, *load) for candidate in reversed(candidates)]
    assert by_prefix(candidates, prefix) == by_prefix(others, prefix)


@given(CANDIDATES, PREFIXES)
def test_a_lost_replica_moves_its_own_prefixes_only(candidates, prefix):
    """Without the replica of a prefix it goes elsewhere; without any other replica it stays."""
    own = by_prefix(candidates, prefix).replica
    for gone in candidates:
        left = [candidate for candidate in candidates if candidate is not gone]
        if left:
            assert (by_prefix(left, prefix).replica == own) == (gone.replica != own)


def test_prefixes_spread_over_the_replicas():
    """Of 400 prefixes each of two replicas owns at least a quarter."""
    candidates = [Candidate(0, 0, 0), Candidate(1, 0, 0)]
    owners = [by_prefix(candidates, number.to_bytes(2, "big")).replica for number in range(400)]
    assert 100 <= sum(owners) <= 300


@given(CANDIDATES, PREFIXES, st.integers(0, 100))
def test_the_cap_sends_a_prefix_to_the_least_loaded_replica_when_its_own_has_too_much(candidates, prefix, cap):
    """At the cap it is loyal still; above it the shortest line serves, and the reason says so."""
    own = by_prefix(candidates, prefix)
    capped = by_prefix(candidates, prefix, cap)
    loads = {candidate.replica: candidate.load for candidate in candidates}
    if loads[own.replica] <= min(loads.values()) + cap:
        assert capped == own
    else:
        assert loads[capped.replica] == min(loads.values())
        assert "cap" in capped.reason


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

"""What the API process knows of its replicas without asking, and whom it therefore chooses."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from demo_engine.api.errors import ApiError
from demo_engine.api.replica import HANGING_LOOKS, SILENT_LOOKS, Replica, ReplicaLost
from demo_engine.api.router import Router
from demo_engine.core.config import EngineConfig
from demo_engine.core.request import SamplingParams
from demo_engine.ipc.messages import Aborted, Ready, Started, Submit, Token, Tokens, pack

PROMPT = [1] * 16


class Engine(asyncio.WriteTransport):
    """Stands for the process at the other end: takes messages, and says what it is told to say."""

    def __init__(self, replica: Replica) -> None:
        super().__init__()
        self._replica = replica
        replica.connection_made(self)
        self.say(Ready("kernel", 1, 1))

    def write(self, data: bytes) -> None:
        """Take a message."""

    def say(self, message) -> None:
        """Let the replica read a message."""
        self._replica.data_received(pack(message))


def make_replicas(config: EngineConfig) -> list[tuple[Replica, Engine]]:
    """Return replicas that are ready."""
    replicas = [Replica(Path(), config, index) for index in range(config.replicas)]
    return [(replica, Engine(replica)) for replica in replicas]


def submit(replica: Replica, *request_ids: str) -> list[asyncio.Queue]:
    """Give requests to a replica."""
    return [replica.submit(Submit(request_id, PROMPT, SamplingParams(4))) for request_id in request_ids]


def last_token(request_id: str) -> Tokens:
    """Return the message with a request's last token."""
    return Tokens(0, 1, 2, 3, 4, 5, [Token(request_id, 7, "length")])


def load(replica: Replica) -> tuple[int, int]:
    """Return how many requests wait and run."""
    return replica.num_waiting, replica.num_running


def test_a_request_waits_runs_and_is_over():
    """It counts from the moment it is given away, and no longer when it has ended, failed or been cancelled."""
    ((replica, engine),) = make_replicas(EngineConfig())
    submit(replica, "a", "b", "c")
    assert load(replica) == (3, 0)
    engine.say(Started(["a", "b"], 1, [0, 0]))
    assert load(replica) == (1, 2)
    engine.say(last_token("a"))
    engine.say(Aborted("b", "no reason"))
    replica.cancel("c")
    assert load(replica) == (0, 0)
    engine.say(Started(["c"], 2, [0]))  # it was on its way when the cancellation was
    assert load(replica) == (0, 0)


def test_a_lost_replica_tells_everyone_and_carries_nothing():
    """Each of its requests gets the news once, and so does one that comes too late."""
    ((replica, engine),) = make_replicas(EngineConfig())
    queues = submit(replica, "a", "b")
    engine.say(Started(["a"], 1, [0]))
    replica.connection_lost(None)
    replica.give_up("it was killed")
    queues += submit(replica, "c")
    assert load(replica) == (0, 0)
    assert [isinstance(queue.get_nowait(), Started | ReplicaLost) for queue in queues] == [True] * 3
    left = [queue.get_nowait() for queue in queues if not queue.empty()]
    assert [type(event) for event in left] == [ReplicaLost]


def test_silence_counts_looks_and_any_message_ends_it():
    """Not heard from between five looks, it is not ready; between twenty-five, it hangs; a word, and all is well."""
    ((replica, engine),) = make_replicas(EngineConfig())
    readiness = []
    for _ in range(HANGING_LOOKS):
        replica.look()
        readiness.append(replica.is_ready)
    assert readiness.count(True) == SILENT_LOOKS - 1
    assert replica.hangs
    engine.say(Aborted("nobody's", "nothing"))
    assert replica.is_ready
    assert not replica.hangs


@pytest.mark.parametrize(
    ("policy", "chosen"),
    [
        ("round_robin", [0, 1, 0, 1]),
        ("least_loaded", [1, 1, 1, 1]),
        ("prefix", [1, 1, 1, 1]),
        ("prefix_capped", [1, 1, 1, 1]),
    ],
)
def test_each_policy_chooses_by_its_own_rule_and_says_so(policy, chosen):
    """One request waits at the first replica: whoever looks at the load takes the second."""
    config = EngineConfig(replicas=2, routing_policy=policy)
    pairs = make_replicas(config)
    replicas = [replica for replica, _ in pairs]
    submit(replicas[0], "a")
    router = Router(config, replicas)
    choices = [router.choose(PROMPT) for _ in chosen]
    assert [replica.index for replica, _ in choices] == chosen
    for replica, attributes in choices:
        assert attributes["replica"] == replica.index
        assert attributes["policy"] == policy
        assert attributes["loads"] == "0:4 1:0"
    assert choices[-1][1]["reason"] == {"round_robin": "next in turn", "least_loaded": "least loaded"}.get(
        policy, "prefix"
    )


def test_a_hot_prefix_overflows_at_its_cap_alone():
    """Loyal to a replica with many requests; with a cap the other takes over at once, and only as long as needed."""
    config = EngineConfig(replicas=2, routing_policy="prefix_capped", routing_load_cap=8)
    (first, engine), (second, _) = make_replicas(config)
    router = Router(config, [first, second])
    served = []
    for number in range(5):
        replica, _ = router.choose(PROMPT)
        served.append(replica.index)
        submit(replica, f"r{number}")
    assert served == [0, 0, 0, 1, 0]
    engine.say(Started(["r0", "r1", "r2", "r4"], 1, [0] * 4))
    assert router.choose(PROMPT)[1]["reason"] == "prefix"


def test_only_replicas_that_are_ready_are_chosen():
    """Without any the request is refused with the time to come back."""
    config = EngineConfig(replicas=2, routing_policy="round_robin")
    (first, _), (second, _) = make_replicas(config)
    router = Router(config, [first, second])
    first.connection_lost(None)
    assert [router.choose(PROMPT)[0].index for _ in range(3)] == [1, 1, 1]
    second.connection_lost(None)
    with pytest.raises(ApiError) as refused:
        router.choose(PROMPT)
    assert refused.value.status == 503

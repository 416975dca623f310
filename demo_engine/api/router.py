"""Which replica serves a request: the policy, and what this process knows of the replicas."""

from __future__ import annotations

from collections.abc import Sequence

from demo_engine.api.errors import ApiError
from demo_engine.api.replica import Replica
from demo_engine.api.routing import Candidate, Decision, PrefixOwners, by_prefix, least_loaded, prefix_of, round_robin
from demo_engine.core.config import EngineConfig
from demo_engine.recorder.server_trace import Attributes

RETRY_S = 2


class Router:
    """Chooses among the replicas that are ready.

    The load is counted here, by what was submitted and has started, so it is never older than the last message.

    Args:
        config: Names the policy.
        replicas: The replicas as they are now; one that was lost is replaced in the list.
    """

    def __init__(self, config: EngineConfig, replicas: Sequence[Replica]) -> None:
        self._config = config
        self._replicas = replicas
        self._last_replica = -1
        self._owners = PrefixOwners()

    def choose(self, prompt_ids: Sequence[int]) -> tuple[Replica, Attributes]:
        """Return the replica for a prompt, and what the trace says about the choice.

        Raises:
            ApiError: None is ready (503).
        """
        candidates = [Candidate(r.index, r.num_waiting, r.num_running) for r in self.ready()]
        decision = self._decide(candidates, prompt_ids)
        self._last_replica = decision.replica
        loads = " ".join(f"{candidate.replica}:{candidate.load}" for candidate in candidates)
        policy = self._config.routing_policy
        return self._replicas[decision.replica], {
            "replica": decision.replica, "policy": policy, "reason": decision.reason, "loads": loads,
        }  # fmt: skip

    def ready(self) -> list[Replica]:
        """Return the replicas that can serve.

        Raises:
            ApiError: None can (503).
        """
        ready = [replica for replica in self._replicas if replica.is_ready]
        if not ready:
            raise ApiError(503, "no engine is ready; see /readyz", code="engine_unavailable", retry_s=RETRY_S)
        return ready

    def _decide(self, candidates: Sequence[Candidate], prompt_ids: Sequence[int]) -> Decision:
        config = self._config
        match config.routing_policy:
            case "least_loaded":
                return least_loaded(candidates)
            case "round_robin":
                return round_robin(candidates, self._last_replica)
            case "prefix" | "prefix_capped":
                prefix = prefix_of(prompt_ids, config.block_size, config.routing_prefix_blocks)
                cap = config.routing_load_cap if config.routing_policy == "prefix_capped" else None
                return by_prefix(candidates, self._owners, prefix, cap)

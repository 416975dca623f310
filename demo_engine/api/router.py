"""Which replica serves a request."""

from __future__ import annotations

from collections.abc import Sequence

from demo_engine.api.errors import ApiError
from demo_engine.api.replica import Replica

RETRY_S = 2


def choose(replicas: Sequence[Replica]) -> Replica:
    """Return the replica with the fewest requests among those that are ready.

    Raises:
        ApiError: None is ready (503).
    """
    ready = [replica for replica in replicas if replica.is_ready]
    if not ready:
        raise ApiError(503, "no engine is ready; see /readyz", code="engine_unavailable", retry_s=RETRY_S)
    return min(ready, key=lambda replica: replica.num_requests)

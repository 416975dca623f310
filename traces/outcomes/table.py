"""All claims, by the experiment that answers them."""

from __future__ import annotations

from traces.outcomes import caching, scheduling, startup, sweeps
from traces.outcomes.claim import Claim, Metric

CLAIMS: dict[str, list[Claim]] = {**caching.CLAIMS, **scheduling.CLAIMS, **startup.CLAIMS, **sweeps.CLAIMS}
METRICS: dict[str, Metric] = {claim.metric.name: claim.metric for claims in CLAIMS.values() for claim in claims}
"""By name."""

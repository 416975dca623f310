"""All claims, by the experiment that answers them."""

from __future__ import annotations

from traces.outcomes.claim import Claim, Metric

CLAIMS: dict[str, list[Claim]] = {}
METRICS: dict[str, Metric] = {}
"""By name."""

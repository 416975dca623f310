"""What the experiments say: gains and costs of optimizations, as comparisons of two arms that may come out wrong."""

from traces.outcomes.claim import Claim, Metric, Outcome, Verdict, outcomes
from traces.outcomes.table import CLAIMS, METRICS

__all__ = ["CLAIMS", "METRICS", "Claim", "Metric", "Outcome", "Verdict", "outcomes"]

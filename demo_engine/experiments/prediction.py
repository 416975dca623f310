"""A prediction from calibrated inputs alone, written down and sealed before the first run."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping

from traces.schema import Prediction
from traces.storage import canonical_json

ROOFLINE = "step = max(flops / gemm_flops_per_s, (weight_bytes + kv_bytes) / read_bytes_per_s) + ops · op_overhead_ns"
"""The formula of ``Context.step_ns``, to be named in the formulas that use it."""


def predicted(
    metric: str,
    formula: str,
    inputs: Mapping[str, int | float],
    value_ns: float,
    by_arm_ns: Mapping[str, float] | None = None,
) -> Prediction:
    """Return the prediction with the time of day and a digest over all of it.

    Args:
        metric: Name of the predicted metric in ``traces.outcomes``.
        formula: How the value follows from the inputs.
        inputs: Calibrated speeds, and sizes that the workload fixes; nothing that was measured by the experiment.
        value_ns: The value that slides print.
        by_arm_ns: The metric in each arm, by the arm's id.
    """
    fields = {
        "metric": metric,
        "formula": formula,
        "inputs": dict(inputs),
        "value_ns": round(value_ns),
        "by_arm_ns": {arm: round(value) for arm, value in (by_arm_ns or {}).items()},
        "made_wall_ns": time.time_ns(),
    }
    seal = hashlib.sha256(canonical_json(fields)).hexdigest()
    return Prediction(**fields, sha256=seal)  # type: ignore[arg-type]

"""A prediction from the machine's speeds and the model's shape alone, written down before the first run."""

from __future__ import annotations

import hashlib
import time

from demo_engine.core.request import EngineRequest, SamplingParams, Scheduled
from demo_engine.recorder.calibration import Calibration
from demo_engine.runner.shape import ModelShape
from traces.schema import Prediction
from traces.storage import canonical_json

OPS_PER_LAYER = 40
FORMULA = (
    "e2e = wait_share · decode + prefill + (output_tokens − 1) · decode; "
    "prefill = prefill_flops / gemm_flops_per_s + overhead; decode = decode_bytes / read_bytes_per_s + overhead; "
    "overhead = ops · op_overhead_ns"
)


def predict(
    shape: ModelShape, calibration: Calibration, num_prompt_tokens: int, num_output_tokens: int, wait_share: float
) -> Prediction:
    """Predict the end-to-end time of one request.

    Args:
        shape: The model.
        calibration: The machine.
        num_prompt_tokens: Length of the prompt.
        num_output_tokens: Length of the answer.
        wait_share: Which part of a neighbour's step is still to come when the request arrives.
    """
    request = EngineRequest("prediction", (0,) * num_prompt_tokens, SamplingParams(num_output_tokens))
    prefill = shape.step_cost([Scheduled.up_to(request, num_prompt_tokens)])
    request.output_ids.append(0)
    request.num_computed_tokens = num_prompt_tokens
    decode = shape.step_cost([Scheduled.up_to(request, num_prompt_tokens + 1)])
    inputs: dict[str, int | float] = {
        "prompt_tokens": num_prompt_tokens,
        "output_tokens": num_output_tokens,
        "wait_share": wait_share,
        "prefill_flops": prefill.flops,
        "decode_bytes": decode.weight_bytes + decode.kv_bytes,
        "ops": shape.num_layers * OPS_PER_LAYER,
        "gemm_flops_per_s": round(calibration.gemm_flops_per_s),
        "read_bytes_per_s": round(calibration.read_bytes_per_s),
        "op_overhead_ns": round(calibration.op_overhead_ns),
    }
    return stamped(inputs, _value_ns(inputs))


def stamped(inputs: dict[str, int | float], value_ns: int) -> Prediction:
    """Return the prediction with the time of day and a digest over all of it."""
    fields = {"formula": FORMULA, "inputs": inputs, "value_ns": value_ns, "made_wall_ns": time.time_ns()}
    digest = hashlib.sha256(canonical_json(fields)).hexdigest()
    return Prediction(FORMULA, inputs, value_ns, fields["made_wall_ns"], digest)  # type: ignore[arg-type]


def _value_ns(inputs: dict[str, int | float]) -> int:
    overhead_ns = inputs["ops"] * inputs["op_overhead_ns"]
    prefill_ns = inputs["prefill_flops"] / inputs["gemm_flops_per_s"] * 1e9 + overhead_ns
    decode_ns = inputs["decode_bytes"] / inputs["read_bytes_per_s"] * 1e9 + overhead_ns
    return round(prefill_ns + (inputs["output_tokens"] - 1 + inputs["wait_share"]) * decode_ns)

"""The machine and the software that a trace holds for."""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
from collections.abc import Iterator, Mapping
from typing import Any

from demo_engine.core.config import EngineConfig
from demo_engine.recorder.calibration import Calibration
from demo_engine.recorder.gpu import gpu_facts
from demo_engine.recorder.host import Unknown, cpu_name, num_cores, stable_facts, volatile_facts
from traces.schema import Fingerprint
from traces.storage import canonical_json

_PACKAGES = ("aiohttp", "msgspec", "numpy", "safetensors", "tokenizers", "transformers", "triton")
_VARIABLES = ("OMP_NUM_THREADS", "OMP_WAIT_POLICY", "OMP_PROC_BIND", "MKL_NUM_THREADS", "PYTHONHASHSEED")


def make_fingerprint(
    calibration: Calibration,
    busy_share: float,
    weight_sha256: Mapping[str, str],
    source: tuple[str, bool],
    dtype: str = "float32",
) -> Fingerprint:
    """Collect every fact; those without a value are null, with the reason beside them.

    Args:
        calibration: What the machine can do, and torch's own account of itself.
        busy_share: How busy the machine was before the first run.
        weight_sha256: Digest of each of the model's files.
        source: The commit, and whether files differ from it.
        dtype: In which arithmetic the model ran.
    """
    unknown: dict[str, str] = {}
    model = hashlib.sha256(canonical_json(dict(weight_sha256))).hexdigest()
    identity_facts = [("model_sha256", model), ("dtype", dtype), ("commit", source[0]), ("dirty", source[1])]
    stable = _settle([*stable_facts(), *gpu_facts(), *_software(calibration), *identity_facts], unknown)
    volatile = _settle([*volatile_facts(), ("busy_share", round(busy_share, 3)), *_speeds(calibration)], unknown)
    identity = hashlib.sha256(canonical_json(stable)).hexdigest()
    return Fingerprint(identity, machine_label(stable["cpu_model"] or "CPU"), stable, volatile, unknown)


def machine_label(cpu_model: str) -> str:
    """Return a short name such as ``EPYC 2 cores``."""
    return f"{cpu_name(cpu_model)} {num_cores()} cores"


def _software(calibration: Calibration) -> Iterator[tuple[str, Any]]:
    yield "torch", calibration.torch_version
    yield "torch_git", calibration.torch_git
    yield "torch_cpu_capability", calibration.cpu_capability
    yield "torch_threads", calibration.num_threads
    yield "linear_kernel", calibration.linear_kernel
    yield "gpu", calibration.cuda_device or Unknown("no CUDA device")
    for package in _PACKAGES:
        try:
            yield package, importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            yield package, Unknown("not installed")
    variables = os.environ | EngineConfig(num_threads=calibration.num_threads).environment
    yield "environment", {name: variables[name] for name in _VARIABLES if name in variables}


def _speeds(calibration: Calibration) -> Iterator[tuple[str, Any]]:
    yield "read_bytes_per_s", round(calibration.read_bytes_per_s)
    yield "gemm_flops_per_s", round(calibration.gemm_flops_per_s)
    yield "op_overhead_ns", round(calibration.op_overhead_ns)


def _settle(facts: list[tuple[str, Any]], unknown: dict[str, str]) -> dict[str, Any]:
    """Replace each ``Unknown`` by null and write its reason down."""
    unknown |= {name: str(value) for name, value in facts if isinstance(value, Unknown)}
    return {name: None if isinstance(value, Unknown) else value for name, value in facts}

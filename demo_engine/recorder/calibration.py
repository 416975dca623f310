"""The speeds of a machine, as they are passed from the process that measures them."""

from __future__ import annotations

import msgspec


class Calibration(msgspec.Struct, frozen=True):
    """What the cores can do with this many threads, and the software that it holds for."""

    num_threads: int
    device: str
    """``cpu`` or ``cuda``."""
    read_bytes_per_s: float
    gemm_flops_per_s: float
    op_overhead_ns: float
    linear_kernel: str
    torch_version: str
    torch_git: str
    cpu_capability: str
    cuda_device: str | None

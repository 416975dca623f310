"""What this machine can do, measured before anything else: the only inputs of a prediction."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable

import msgspec
import torch

from demo_engine.recorder.calibration import Calibration
from demo_engine.runner.linear import kernel_name, make_linear

READ_BYTES = 256 * 2**20
GEMM_ROWS, GEMM_IN, GEMM_OUT = 256, 1024, 2048
NUM_OPS = 1000
REPEATS = 7


def calibrate(num_threads: int, device: str = "cpu") -> Calibration:
    """Measure read bandwidth, matrix products and the cost of a small operation, each as the median of several.

    Args:
        num_threads: Threads of the CPU's operations.
        device: ``cpu`` or ``cuda``.
    """
    torch.set_num_threads(num_threads)
    cuda = torch.cuda.get_device_name() if torch.cuda.is_available() else None
    with torch.inference_mode():
        return Calibration(
            num_threads=num_threads,
            device=device,
            read_bytes_per_s=_read_bandwidth(device),
            gemm_flops_per_s=_gemm_speed(device),
            op_overhead_ns=_op_overhead_ns(device),
            linear_kernel=kernel_name(device=device),
            torch_version=str(torch.__version__),
            torch_git=str(torch.version.git_version),
            cpu_capability=torch.backends.cpu.get_cpu_capability(),
            cuda_device=cuda,
        )


def _read_bandwidth(device: str) -> float:
    values = torch.ones(READ_BYTES // 4, device=device)
    return READ_BYTES / _median_s(lambda: values.sum(), device)


def _gemm_speed(device: str) -> float:
    linear = make_linear(torch.randn(GEMM_OUT, GEMM_IN, device=device))
    rows = torch.randn(GEMM_ROWS, GEMM_IN, device=device)
    return 2 * GEMM_ROWS * GEMM_IN * GEMM_OUT / _median_s(lambda: linear(rows), device)


def _op_overhead_ns(device: str) -> float:
    small = torch.ones(16, device=device)

    def many() -> None:
        for _ in range(NUM_OPS):
            torch.add(small, small)

    return _median_s(many, device) * 1e9 / NUM_OPS


def _median_s(work: Callable[[], object], device: str) -> float:
    times = []
    for _ in range(REPEATS + 1):  # the first one warms up
        start_ns = time.perf_counter_ns()
        work()
        if device == "cuda":
            torch.cuda.synchronize()
        times.append(time.perf_counter_ns() - start_ns)
    return statistics.median(times[1:]) / 1e9


if __name__ == "__main__":
    sys.stdout.write(msgspec.json.encode(calibrate(int(sys.argv[1]), sys.argv[2])).decode() + "\n")

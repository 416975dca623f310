"""Facts about the GPUs, as the driver's own tool tells them; without it, the reason."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Iterator
from typing import Any

from demo_engine.recorder.host import Unknown

_FIELDS = {
    "gpu_driver": "driver_version",
    "gpu_uuid_sha256": "uuid",
    "gpu_vbios": "vbios_version",
    "gpu_memory_total": "memory.total",
    "gpu_ecc": "ecc.mode.current",
    "gpu_mig": "mig.mode.current",
    "gpu_persistence": "persistence_mode",
    "gpu_power_limit": "power.limit",
    "gpu_max_power_limit": "power.max_limit",
    "gpu_max_sm_clock": "clocks.max.sm",
    "gpu_max_memory_clock": "clocks.max.memory",
    "gpu_application_sm_clock": "clocks.applications.graphics",
    "gpu_application_memory_clock": "clocks.applications.memory",
}
_TIMEOUT_S = 10.0


def gpu_facts() -> Iterator[tuple[str, Any]]:
    """Yield what stays the same until somebody changes driver, limits or clocks; a list entry is one GPU."""
    query = ",".join(_FIELDS.values())
    command = ["nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=_TIMEOUT_S)
    except (OSError, subprocess.SubprocessError) as error:
        reason = Unknown(f"nvidia-smi: {getattr(error, 'strerror', None) or type(error).__name__}")
        yield from ((name, reason) for name in _FIELDS)
        return
    rows = [[cell.strip() for cell in line.split(",")] for line in done.stdout.splitlines() if line.strip()]
    for index, name in enumerate(_FIELDS):
        values = [row[index] if index < len(row) else "" for row in rows]
        yield name, [_hidden(value) for value in values] if name == "gpu_uuid_sha256" else values


def _hidden(identifier: str) -> str:
    """Return a digest: it tells two GPUs apart without naming either."""
    return hashlib.sha256(identifier.encode()).hexdigest()[:16]

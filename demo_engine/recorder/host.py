"""Facts about the host; a fact that cannot be read is a reason instead of a value."""

from __future__ import annotations

import os
import platform
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

_CPU_FLAGS = ("avx", "avx2", "fma", "f16c", "avx512f", "avx512_vnni", "avx512_bf16", "amx_int8", "asimd", "sve")


class Unknown(Exception):  # noqa: N818 (a reason, not a failure)
    """Why a fact has no value."""


def stable_facts() -> Iterator[tuple[str, Any]]:
    """Yield what stays the same until the machine or its system is changed; the value may be ``Unknown``."""
    yield from _facts(
        {
            "cpu_model": lambda: _cpuinfo("model name"),
            "cpu_vendor": lambda: _cpuinfo("vendor_id"),
            "cpu_family": lambda: _cpuinfo("cpu family"),
            "cpu_stepping": lambda: _cpuinfo("stepping"),
            "cpu_flags": lambda: [flag for flag in _CPU_FLAGS if flag in _cpuinfo("flags").split()],
            "cpu_cores": num_cores,
            "cpu_cache": lambda: _cpuinfo("cache size"),
            "numa_nodes": lambda: (
                len(list(Path("/sys/devices/system/node").glob("node[0-9]*"))) or _unknown("no sysfs")
            ),
            "cpu_governor": lambda: _read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
            "cpu_turbo": lambda: _read("/sys/devices/system/cpu/cpufreq/boost"),
            "memory_total_bytes": lambda: _meminfo("MemTotal"),
            "virtual_machine": lambda: "hypervisor" in _cpuinfo("flags").split(),
            "machine": platform.machine,
            "kernel": platform.release,
            "system": lambda: _os_release("PRETTY_NAME"),
            "libc": lambda: " ".join(platform.libc_ver()),
            "clock_source": lambda: _read("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
            "clock_resolution_ns": lambda: round(time.get_clock_info("perf_counter").resolution * 1e9),
            "clock_monotonic": lambda: time.get_clock_info("perf_counter").monotonic,
            "python": platform.python_version,
        }
    )


def volatile_facts() -> Iterator[tuple[str, Any]]:
    """Yield what changes from minute to minute."""
    yield from _facts(
        {
            "load_average_1m": lambda: round(os.getloadavg()[0], 2),
            "memory_available_bytes": lambda: _meminfo("MemAvailable"),
            "cpu_mhz": lambda: _cpuinfo("cpu MHz"),
            "cpu_temperature": lambda: _read("/sys/class/thermal/thermal_zone0/temp"),
        }
    )


def num_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def cpu_model() -> str:
    """Return the CPU's full name, or just ``CPU`` where the system does not tell."""
    try:
        return _cpuinfo("model name")
    except Unknown:
        return "CPU"


def cpu_name(model: str) -> str:
    """Return the short name of a CPU: ``AMD EPYC 7763 64-Core Processor`` is an EPYC."""
    found = re.search(r"EPYC|Xeon|Ryzen|Threadripper|Core\S* (?:Ultra )?i?\d|Apple M\d+|Neoverse|Graviton", model)
    return found.group().replace("(TM)", "").replace("(R)", "") if found else " ".join(model.split()[:2]) or "CPU"


def busy_share(over_s: float = 1.0) -> float:
    """Return how busy all cores were over a moment, from 0 to 1."""
    try:
        before = _cpu_times()
        time.sleep(over_s)
        after = _cpu_times()
    except OSError:
        return min(1.0, os.getloadavg()[0] / num_cores())
    total = sum(after) - sum(before)
    idle = after[3] + after[4] - before[3] - before[4]
    return 1 - idle / total if total else 0.0


def counters() -> dict[str, int]:
    """Return counters of the whole machine since it started; empty where the system does not tell.

    ``steal_ns`` is time that a hypervisor took from all cores together; ``context_switches`` are of all processes.
    """
    try:
        lines = Path("/proc/stat").read_text().splitlines()
    except OSError:
        return {}
    switches = next((int(line.split()[1]) for line in lines if line.startswith("ctxt ")), 0)
    steal_ns = int(lines[0].split()[8]) * 1_000_000_000 // os.sysconf("SC_CLK_TCK")
    return {"steal_ns": steal_ns, "context_switches": switches}


def _cpu_times() -> list[int]:
    return [int(field) for field in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]


def _facts(readers: dict[str, Callable[[], Any]]) -> Iterator[tuple[str, Any]]:
    for name, read in readers.items():
        try:
            yield name, read()
        except (Unknown, OSError) as error:
            yield name, Unknown(str(error))


def _unknown(reason: str) -> Any:
    raise Unknown(reason)


def _read(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError as error:
        raise Unknown(f"{path}: {error.strerror}") from error


def _cpuinfo(key: str) -> str:
    for line in _read("/proc/cpuinfo").splitlines():
        name, _, value = line.partition(":")
        if name.strip() == key:
            return value.strip()
    raise Unknown(f"/proc/cpuinfo has no {key!r}")


def _meminfo(key: str) -> int:
    for line in _read("/proc/meminfo").splitlines():
        if line.startswith(f"{key}:"):
            return int(line.split()[1]) * 1024
    raise Unknown(f"/proc/meminfo has no {key!r}")


def _os_release(key: str) -> str:
    try:
        return platform.freedesktop_os_release()[key]
    except (OSError, KeyError) as error:
        raise Unknown(f"os-release: {error}") from error

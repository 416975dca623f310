"""The deck benchmark: the talk's own deck built from nothing, as stills, and again with nothing changed."""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from spanreel import paths
from spanreel.build import Order, build
from spanreel.report import Report

_KIB = 1024


def bench_deck() -> list[dict[str, object]]:
    """Build the talk's set three ways into a folder of its own, and return the figures.

    The baseline of all times is the build from nothing of the same run.

    Raises:
        SpanreelError: The deck cannot be built.
    """
    with tempfile.TemporaryDirectory(prefix="spanreel-bench-") as folder:
        order = Order(paths.set_dir(None), out_dir=Path(folder) / "deck", cache_dir=Path(folder) / "cache")
        cold_s = _seconds(lambda: build(order, Report(quiet=True)))
        unchanged_s = _seconds(lambda: build(order, Report(quiet=True)))
        fresh = replace(
            order, formats=("png",), out_dir=Path(folder) / "stills", cache_dir=Path(folder) / "cache-of-stills"
        )
        stills_s = _seconds(lambda: build(fresh, Report(quiet=True)))
    baseline = "the same deck built from nothing, html and mp4 at 1080p30"
    return [
        _figure("deck_cold_s", cold_s, "s", baseline, cold_s, 120.0),
        _figure("deck_unchanged_s", unchanged_s, "s", baseline, cold_s, 2.0),
        _figure("stills_cold_s", stills_s, "s", baseline, cold_s, 30.0),
        _figure("draw_peak_mb", _peak_of_children_mb(), "MB", "the target", 600.0, 600.0),
    ]


def _seconds(work: Callable[[], object]) -> float:
    start_ns = time.perf_counter_ns()
    work()
    return (time.perf_counter_ns() - start_ns) / 1e9


def _peak_of_children_mb() -> float:
    """Return the largest resident set of any process that drew."""
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return peak / _KIB if sys.platform != "darwin" else peak / _KIB**2


def _figure(
    name: str, value: float, unit: str, baseline: str, baseline_value: float, target: float
) -> dict[str, object]:
    return {
        "figure": name, "value": round(value, 2), "unit": unit, "baseline": baseline,
        "baseline_value": round(baseline_value, 2), "ratio": round(baseline_value / value, 2), "target": target,
        "met": value <= target,
    }  # fmt: skip

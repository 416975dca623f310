"""The verb ``faults``: every fault in turn, one line each for what was done, expected and seen."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

from demo_engine.console import say
from demo_engine.errors import UsageError
from demo_engine.faults import engines, leaving, overload, signals
from demo_engine.faults.findings import Fault, Findings

FAULTS = (
    Fault(
        "burst", "{} requests, 250 a second, at a server with 16 places", "an answer or 429/503 with a time, all",
        overload.burst, 800, 160,
    ),
    Fault(
        "pool", "{} requests in a pool of 8 blocks", "the tokens of each alone; what never fits is refused",
        overload.pool, 64, 16,
    ),
    Fault("long prompts", "{} prompts of 1,500 tokens", "ready throughout", overload.long_prompts, 20, 3),
    Fault("leaving", "{} clients leave, closing or resetting", "a neighbour ends; all free", leaving.leaving, 1000, 60),
    Fault(
        "leaving by proxy", "{} clients leave a proxy that holds replies, two replicas", "a neighbour ends; all free",
        leaving.leaving_by_proxy, 200, 30,
    ),
    Fault(
        "not reading", "{} clients read nothing", "cut off in time; a neighbour ends; their places are free",
        leaving.not_reading, 7, 4,
    ),
    Fault("killed", "SIGKILL for one of two engines, {} times", "each stream one end", engines.killed, 20, 2),
    Fault("hanging", "SIGSTOP for one of two engines, {} times", "each stream one end", engines.hanging, 5, 1),
    Fault("lost", "SIGKILL for the only engine, {} times", "each stream one end; 503; exit 1", engines.lost, 5, 1),
    Fault(
        "standing still", "SIGSTOP for the only engine, {} times for 3 s", "not ready meanwhile; nothing lost",
        engines.standing_still, 5, 1,
    ),
    Fault(
        "draining", "SIGTERM amid streams, {} times", "short ones end, new ones 503, exit 0", signals.draining, 20, 1
    ),
)  # fmt: skip


def make_faults(model: str, names: Sequence[str], *, quick: bool, as_json: bool) -> int:
    """Make faults, one after the other; returns the exit code, 1 if a promise did not hold or a time was missed.

    Args:
        model: The model's folder.
        names: Which; all if empty.
        quick: Fewer of each.
        as_json: Print one JSON object a line.

    Raises:
        UsageError: There is no such fault.
    """
    by_name = {fault.name: fault for fault in FAULTS}
    for name in names:
        if name not in by_name:
            raise UsageError(f"there is no fault {name!r}; choose from: {', '.join(by_name)}")
    all_ok = True
    for fault in [by_name[name] for name in names or by_name]:
        size = fault.quick_size if quick else fault.size
        findings = asyncio.run(fault.make(model, size))
        all_ok &= findings.ok
        say(json.dumps(_record(fault, size, findings)) if as_json else _line(fault, size, findings))
    return 0 if all_ok else 1


def _record(fault: Fault, size: int, findings: Findings) -> dict[str, Any]:
    return {
        "fault": fault.name, "done": fault.done.format(size), "expected": fault.expected, "seen": findings.seen,
        "broken": findings.broken, "late": findings.late, "ok": findings.ok,
    }  # fmt: skip


def _line(fault: Fault, size: int, findings: Findings) -> str:
    told = "ok" if findings.ok else "NOT OK: " + "; ".join(dict.fromkeys([*findings.broken, *findings.late]))
    return f"{fault.name}: {fault.done.format(size)} | {fault.expected} | {findings.seen} | {told}"

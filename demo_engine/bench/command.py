"""The verb ``bench``: what is measured goes to standard output, how far it has come to standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

from demo_engine.bench import device, engine, tracing
from demo_engine.bench.figures import Figure, table
from demo_engine.console import say


def bench(what: str, model: str, on: device.Device, *, quick: bool, as_json: bool) -> int:
    """Measure and print; returns the exit code, 1 without parity, and 0 also where another figure misses its target.

    Args:
        what: ``engine``, ``tracing``, ``parity`` or ``batches``.
        model: The model's folder.
        on: The device of ``parity`` and ``batches``; the two others are about the processor.
        quick: Fewer rounds.
        as_json: Print one JSON list instead of a table.
    """
    how, figures = _measure(what, model, on, quick)
    if as_json:
        say(json.dumps([figure.record() for figure in figures], indent=1))
    else:
        say("\n".join((*how, "", *table(figures))))
    return 1 if what == "parity" and not all(figure.is_met for figure in figures) else 0


def _measure(what: str, model: str, on: device.Device, quick: bool) -> tuple[Sequence[str], list[Figure]]:
    match what:
        case "engine":
            return engine.HOW, engine.bench_engine(model, quick, _progress)
        case "tracing":
            return tracing.HOW, tracing.bench_tracing(model, quick, _progress)
        case "parity":
            return device.PARITY_HOW, device.bench_parity(model, on, quick, _progress)
        case _:
            return device.BATCHES_HOW, device.bench_batches(model, on, quick, _progress)


def _progress(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()

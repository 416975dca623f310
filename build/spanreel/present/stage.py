"""From a set's name to what is put on stage."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from slides.account import EXPERIMENT
from slides.twin import one_request
from spanreel import packages
from spanreel.assemble import PAGE_FILE
from spanreel.build import Order, build
from spanreel.present.client import Question
from spanreel.present.engine import engine_command
from spanreel.present.server import Stage
from spanreel.report import Report
from traces import load_set


def prepare_stage(set_dir: Path, *, live: bool, with_deck: bool = True) -> Stage:
    """Build the deck if it is missing or stale, and read what its live demo asks.

    Args:
        set_dir: The trace set's folder.
        live: Whether an engine is wanted.
        with_deck: Whether there will be pages to serve.

    Raises:
        SpanreelError: The deck cannot be built.
        TraceError: The set cannot be read.
    """
    with Report() as report:
        deck_page = _deck_page(set_dir, report) if with_deck else b""
        command, why_not = _engine(report, live=live)
    trace_set = load_set(set_dir)
    twin = one_request(trace_set)
    return Stage(
        deck_page=deck_page,
        question=Question(twin["prompt"], len(twin["tokens"])),
        span_types={span_type.name: span_type for span_type in trace_set.experiment(EXPERIMENT).span_types},
        recorded_e2e_ns=twin["e2e_ns"],
        engine_command=command,
        why_no_engine=why_not,
    )


def _deck_page(set_dir: Path, report: Report) -> bytes:
    built = build(Order(set_dir, ("html",)), report)
    return (built.folder / PAGE_FILE).read_bytes()


def _engine(report: Report, *, live: bool) -> tuple[Sequence[str] | None, str]:
    """Return the engine's command, or None and why, in a few words."""
    if not live:
        return None, "started without live"
    if lacking := packages.missing("engine"):
        report.say(f"no live demos: {', '.join(lacking)} not installed; install with: {packages.INSTALL['engine']}")
        return None, "engine not installed"
    return engine_command(), ""

"""The tracing benchmark finds what is planted, and the switch really switches the recorder off."""

from __future__ import annotations

import contextlib
import statistics

import pytest

from demo_engine.bench import recording, tracing
from demo_engine.bench.jobs import Recorded
from demo_engine.bench.null_runner import Finished, NullRunner
from demo_engine.bench.recording import INSTANTS_A_STEP, Switch, SwitchedLog
from demo_engine.core.config import EngineConfig
from demo_engine.core.loop import EngineLoop
from demo_engine.core.request import EngineRequest, SamplingParams
from demo_engine.core.step_log import COLUMNS
from engine_fakes import FakeClock


@pytest.mark.parametrize("planted_us", [50, 200])
def test_a_planted_cost_is_found_and_none_where_none_is(monkeypatch, planted_us):
    """On a clock that only looks move, the comparison finds the planted cost of an event, and nothing without one."""
    monkeypatch.setattr(recording.time, "thread_time_ns", FakeClock())
    found_ns = statistics.median(tracing.compare_without_model(planted_us * 1000, num_rounds=3).added_ns)
    assert found_ns / INSTANTS_A_STEP == pytest.approx(planted_us * 1000, rel=0.1)
    assert statistics.median(tracing.compare_without_model(0, num_rounds=3).added_ns) == 0


def test_a_step_reads_the_clock_as_often_as_the_benchmark_says():
    """One step looks at the clock once for each of its instants."""
    looks = FakeClock()
    loop = EngineLoop(EngineConfig(), NullRunner(), Finished(), looks)
    loop.submit(EngineRequest("r", (1, 2), SamplingParams(5)))
    for _ in range(3):
        loop.step()
    assert looks.now_ns == 3 * INSTANTS_A_STEP * 1000


def test_with_the_switch_off_nothing_is_read_or_written():
    """The step is counted, and its row stays empty."""
    switch = Switch()
    log = SwitchedLog(switch)
    for is_on in (True, False):
        switch.is_on = is_on
        log.append((7,) * len(COLUMNS), ("r",), ())
    assert switch.clock_ns() == 0
    assert log.columns(0, 1)["flops"] == [7, 0]
    assert log.ids(0, 1)[0] == [["r"], []]


@pytest.mark.parametrize("added_ns", [2_000.0, -1_000.0, 500_000.0])
def test_every_figure_is_printed_whatever_it_shows(monkeypatch, added_ns):
    """The interval stands beside the shares also where recording costs much, or seems to save time."""

    class Side:
        def recording(self, num_threads, num_rounds, steps_a_turn):
            return Recorded([added_ns] * num_rounds, 100e6)

    monkeypatch.setattr(tracing, "running_side", lambda _: contextlib.nullcontext(Side()))
    monkeypatch.setattr(tracing, "measure_event_us", lambda: 0.4)
    monkeypatch.setattr(tracing, "compare_without_model", lambda *_: Recorded([5 * 300_000.0], 20_000.0))
    figures = {figure.name: figure for figure in tracing.bench_tracing("model", True, lambda _: None)}
    assert list(figures) == ["event_us", "step_share", "on_off", "on_off_low", "on_off_high", "planted_event_us"]
    assert figures["step_share"].value == pytest.approx(5 * 0.4 / 100_000 * 100)
    assert all(figures[name].value == added_ns / 100e6 * 100 for name in ("on_off", "on_off_low", "on_off_high"))
    assert figures["planted_event_us"].record() | {"baseline": None} == {
        "figure": "planted_event_us", "value": 300, "unit": "µs", "baseline": None, "baseline_value": 200,
        "ratio": 1.5, "target": 200, "met": False,
    }  # fmt: skip

"""The engine benchmark: fair turns, the better number of threads on each side, every figure, a planted slowdown."""

from __future__ import annotations

import contextlib

import pytest

from demo_engine.bench import engine
from demo_engine.bench.engine import Arm, best_of, measure
from demo_engine.bench.jobs import Spent

NAMES = [
    "fp32_fast_single", "fp32_fast_single_cpu", "fp32_single", "fp32_single_cpu", "fp32_batch8", "fp32_batch8_cpu",
    "int8_single", "int8_single_cpu", "int8_fast_single", "int8_fast_single_cpu", "int8_batch16", "int8_batch16_cpu",
    "llama_cpp_single", "context_slope", "sched_us_64", "sched_waiting_100", "sched_waiting_10000",
]  # fmt: skip


class ScriptedSide:
    """A side whose speeds are given: ms a step, with two threads a quarter less."""

    def __init__(self, name, step_ms, turns=None):
        self.name, self.step_ms, self.turns = name, step_ms, [] if turns is None else turns

    def decode(self, num_threads, num_requests, num_tokens):
        self.turns.append((self.name, num_threads))
        num_steps = num_tokens - 1
        wall_ns = round(num_steps * self.step_ms * 1e6 * (0.75 if num_threads == 2 else 1))
        return Spent(num_requests * num_steps, wall_ns, wall_ns * num_threads)

    def context(self, num_threads, num_context_tokens, num_repeats):
        return Spent(num_repeats, num_repeats * (90_000_000 + 10_000 * num_context_tokens), 1)


@pytest.fixture
def scripted(monkeypatch):
    """Replace the processes by scripted sides; return their ms a step, by kind, mode and arithmetic."""
    step_ms = {
        ("engine", False, "none"): 60, ("engine", True, "none"): 80, ("engine", True, "int8"): 50,
        ("engine", True, "int8_rows"): 40, ("transformers", True, "none"): 100,
    }  # fmt: skip

    def running_side(side):
        mode = side.kind, side.batch_invariant, side.quantization
        return contextlib.nullcontext(ScriptedSide(side.kind, step_ms[mode]))

    monkeypatch.setattr(engine, "running_side", running_side)
    monkeypatch.setattr(engine, "serving_figures", lambda *_: [])  # tests/engine/test_bench_serving.py
    monkeypatch.setattr(engine.importlib.util, "find_spec", lambda _: None)
    return step_ms


def figures_by_name():
    """Return the figures of a quick run."""
    return {figure.name: figure for figure in engine.bench_engine("model", True, lambda _: None)}


def test_arms_take_turns_after_a_round_that_does_not_count():
    """Both numbers of threads of each arm run in every round; the warm-up leaves no runs."""
    turns = []
    arms = {name: Arm(ScriptedSide(name, 100, turns)) for name in "ab"}
    runs = measure(arms, 2, lambda _: None)
    assert turns == [("a", 1), ("a", 2), ("b", 1), ("b", 2)] * 3
    assert {name: {threads: len(spent) for threads, spent in arm.items()} for name, arm in runs.items()} == {
        "a": {1: 2, 2: 2}, "b": {1: 2, 2: 2},
    }  # fmt: skip


def test_the_better_number_of_threads_stands():
    """By median throughput, not by one lucky run."""
    steady, lucky = Spent(10, 100, 100), Spent(10, 1, 1)
    assert best_of({1: [steady] * 3, 2: [lucky, Spent(10, 150, 150), Spent(10, 150, 150)]}).num_threads == 1
    assert best_of({1: [steady] * 3, 2: [Spent(10, 80, 160)] * 3}).num_threads == 2


def test_every_figure_is_there_with_the_ratio_of_its_own_pair(scripted):
    """Throughput is tokens over time, batch 8 is compared with the single stream, and each baseline names versions."""
    figures = figures_by_name()
    assert list(figures) == NAMES
    assert figures["fp32_fast_single"].ratio == pytest.approx(100 / 60)
    assert figures["fp32_single"].ratio == pytest.approx(100 / 80)
    assert figures["fp32_single"].value == pytest.approx(1000 / 80 / 0.75)
    assert figures["fp32_batch8"].ratio == pytest.approx(8)
    assert figures["int8_single"].ratio == pytest.approx(80 / 50)
    assert figures["int8_fast_single"].ratio == pytest.approx(80 / 40)
    assert figures["int8_batch16"].ratio == pytest.approx(16 * 80 / 50)
    assert figures["fp32_batch8"].baseline_value == figures["fp32_single"].value
    assert figures["fp32_single_cpu"].value == pytest.approx(2 * 80 * 0.75)
    assert figures["context_slope"].value == pytest.approx(10)
    assert figures["llama_cpp_single"].baseline == "not measured: llama-cpp-python is not installed"
    for name in ("fp32_fast_single", "fp32_single"):
        assert all(word in figures[name].baseline for word in ("transformers 5.", "torch 2.", "float32", "2 threads"))
    assert {name: figures[name].record()["target"] for name in NAMES if figures[name].target} == {
        "fp32_fast_single": 1.5, "fp32_single": 1.1, "fp32_batch8": 4, "int8_single": 1.1, "int8_fast_single": 1.7,
        "int8_batch16": 6, "context_slope": 12,
        "sched_us_64": 150, "sched_waiting_10000": 1.5,
    }  # fmt: skip


def test_a_planted_slowdown_is_a_missed_target_that_stays_in_the_list(scripted):
    """An engine that decodes 37 % slower misses its target, and every figure is still printed."""
    assert figures_by_name()["fp32_single"].is_met is True
    scripted["engine", True, "none"] *= 1.37
    figures = figures_by_name()
    assert list(figures) == NAMES
    assert figures["fp32_single"].is_met is False
    assert figures["fp32_single"].ratio == pytest.approx(100 / 80 / 1.37)

"""The real sides of the benchmarks: this engine, transformers, and a stand-in for a package that is rarely here."""

from __future__ import annotations

import json
import subprocess
import sys
from types import SimpleNamespace

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.engine]


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the verb in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "demo_engine", "bench", *arguments], capture_output=True, text=True, check=False
    )


def test_both_sides_continue_the_same_prompts_alike():
    """``bench parity`` starts both, finds the same tokens on every prompt, exits with 0 and prints JSON alone."""
    done = bench("parity", "--quick", "--json")
    assert done.returncode == 0, done.stderr
    (record,) = json.loads(done.stdout)
    assert (record["figure"], record["value"], record["met"]) == ("parity", 2, True)
    assert "transformers 5." in record["baseline"]


def test_batches_are_compared_with_one_request_alone():
    """``bench batches`` prints a table with each size, its throughput and the ratio to the first."""
    done = bench("batches", "--quick")
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    rows = [line.split() for line in done.stdout.splitlines() if line.startswith("batch_")]
    assert [row[0] for row in rows] == ["batch_1", "batch_4", "batch_1:"]
    assert rows[0][-1] == "1.00×"


def test_a_model_that_is_not_there_is_a_usage_error():
    """One line, exit code 2, before any side is started."""
    done = bench("engine", "--model", "no-such-model")
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1


def test_a_side_that_ends_early_is_one_error():
    """The bench says so instead of waiting for an answer."""
    from demo_engine.bench.jobs import Side
    from demo_engine.bench.sides import running_side
    from demo_engine.errors import EngineError

    with (
        pytest.raises(EngineError, match="a side of the benchmark ended, with exit code 1"),
        running_side(Side("engine", "no-such-folder")),
    ):
        pass


def test_the_engine_measures_contexts_and_its_recorder():
    """Every job of the engine's side answers with what it was asked for, on one loaded model."""
    from demo_engine.bench.jobs import Side
    from demo_engine.bench.sides import running_side
    from demo_engine.weights import open_model

    with running_side(Side("engine", str(open_model().path), batch_invariant=False)) as side:
        assert side.decode(1, 3, 4).num_tokens == 9
        assert side.context(1, 64, 2).num_tokens == 2
        recorded = side.recording(1, 2, 1)
    assert len(recorded.added_ns) == 2
    assert recorded.step_ns > 0


def test_llama_cpp_is_asked_for_what_the_others_are(monkeypatch):
    """With a stand-in for the package: the same prompt, greedy, and one model for each number of threads."""
    from demo_engine.bench import peers
    from demo_engine.bench.jobs import PROMPT_TOKENS, DecodeJob, Side, prompt_ids

    made = []

    class Llama:
        def __init__(self, path, *, n_threads, **options):
            made.append(n_threads)

        def n_vocab(self):
            return 1000

        def reset(self):
            pass

        def generate(self, ids, temp):
            assert (ids, temp) == (prompt_ids(0, PROMPT_TOKENS, 1000), 0.0)
            yield from range(6)

    monkeypatch.setitem(sys.modules, "llama_cpp", SimpleNamespace(Llama=Llama))
    side = peers.LlamaCppSide(Side("llama-cpp", "unused"))
    assert [side.decode(DecodeJob(threads, 1, 6)).num_tokens for threads in (1, 2, 1)] == [5, 5, 5]
    assert made == [1, 2]

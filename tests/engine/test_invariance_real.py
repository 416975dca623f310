"""The same bits on the real model: matrices as large as those that are served, under every schedule at once."""

from __future__ import annotations

from dataclasses import replace

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.engine]

torch = pytest.importorskip("torch")

from demo_engine.core.config import EngineConfig  # noqa: E402 (after torch is known to be here)
from demo_engine.core.loop import EngineLoop  # noqa: E402
from demo_engine.core.request import EngineRequest, SamplingParams  # noqa: E402
from demo_engine.runner.runner import TorchRunner  # noqa: E402
from demo_engine.weights import open_model  # noqa: E402
from engine_fakes import Collector, FakeClock  # noqa: E402

ENGINE = EngineConfig(num_kv_blocks=220, max_num_seqs=32)
LENGTH, OUTPUT = 130, 6


class LogitsKeeper(TorchRunner):
    """A runner that keeps each request's logits."""

    def sample(self, logits, requests):
        """Keep the rows, then sample."""
        for row, request in enumerate(requests):
            self.kept.setdefault(request.id, []).append(logits[row].clone())
        return super().sample(logits, requests)


@pytest.fixture(scope="module", params=["none", "int8"])
def runner(request):
    """The packaged model, loaded once for each arithmetic."""
    torch.set_num_threads(1)
    return LogitsKeeper(open_model().path, replace(ENGINE, quantization=request.param))


def prompt(seed: int, length: int = LENGTH) -> tuple[int, ...]:
    """Return random token ids; no two in a row of them repeat a text."""
    return tuple(torch.randint(20, 49_000, (length,), generator=torch.Generator().manual_seed(seed)).tolist())


def run(runner, config: EngineConfig, requests: dict[str, tuple[tuple[int, ...], int]]) -> EngineLoop:
    """Serve requests, given as prompt and output length by name."""
    runner.kept = {}
    loop = EngineLoop(config, runner, Collector(), FakeClock())
    for name, (ids, count) in requests.items():
        loop.submit(EngineRequest(name, ids, SamplingParams(count, ignore_eos=True)))
    while loop.has_work:
        loop.step()
    return loop


SUBJECT = {"subject": (prompt(7), OUTPUT)}


@pytest.fixture(scope="module")
def alone(runner):
    """The subject's logits when nobody else is there."""
    run(runner, ENGINE, SUBJECT)
    logits = torch.stack(runner.kept["subject"])
    assert len(set(logits.argmax(-1).tolist())) >= 3
    return logits


@pytest.mark.parametrize(("before", "after"), [(0, 1), (1, 0), (3, 4), (0, 15), (31, 0)])
def test_company_changes_no_bit(runner, alone, before, after):
    """In batches of 2, 8, 16 and 32, first, in the middle and last, the logits are those of the subject alone."""
    company = {f"n{index}": (prompt(100 + index, 3 + index % 5), OUTPUT) for index in range(before + after)}
    names = list(company)
    requests = {name: company[name] for name in names[:before]} | SUBJECT
    requests |= {name: company[name] for name in names[before:]}
    loop = run(runner, ENGINE, requests)
    assert max(loop.log.columns(0, loop.log.num_steps - 1)["decode_tokens"]) == before + after + 1
    assert torch.equal(torch.stack(runner.kept["subject"]), alone)


@pytest.mark.parametrize("chunk", [1, 7, 64])
def test_chunks_change_no_bit(runner, alone, chunk):
    """Whatever the chunk size, the logits are those of the whole prompt."""
    run(runner, replace(ENGINE, long_prefill_token_threshold=chunk), SUBJECT)
    assert torch.equal(torch.stack(runner.kept["subject"]), alone)


def test_a_preemption_and_a_prefix_hit_change_no_bit(runner, alone):
    """Preempted beside a longer request, computed again from what its own blocks still hold, it stays the same."""
    config = replace(ENGINE, num_kv_blocks=18, enable_prefix_caching=True)
    loop = run(runner, config, {"other": (prompt(9, 140), 12)} | SUBJECT)
    columns = loop.log.columns(0, loop.log.num_steps - 1)
    assert ["subject"] in loop.log.ids(0, loop.log.num_steps - 1)[1]
    assert sum(columns["cached_tokens"]) > 0
    assert torch.equal(torch.stack(runner.kept["subject"]), alone)


def test_a_second_thread_changes_no_bit(runner, alone):
    """Two threads give the bits of one, alone and beside others."""
    torch.set_num_threads(2)
    try:
        for company in ({}, {"n0": (prompt(1, 9), OUTPUT), "n1": (prompt(2, 40), OUTPUT)}):
            run(runner, ENGINE, company | SUBJECT)
            assert torch.equal(torch.stack(runner.kept["subject"]), alone)
    finally:
        torch.set_num_threads(1)

"""A request's logits have the same bits alone, in any batch, in any chunks, after a preemption and a prefix hit.

A small random model with the default model's head size; the last test plants the faults that the others must catch.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

pytestmark = pytest.mark.engine

torch = pytest.importorskip("torch")

from demo_engine.core.config import EngineConfig  # noqa: E402 (after torch is known to be here)
from demo_engine.core.loop import EngineLoop  # noqa: E402
from demo_engine.core.request import EngineRequest, SamplingParams  # noqa: E402
from demo_engine.runner import attention, decoder, linear  # noqa: E402
from demo_engine.runner.runner import TorchRunner  # noqa: E402
from engine_fakes import Collector, FakeClock  # noqa: E402
from toy_model import write_toy_model  # noqa: E402

PROMPT_LEN = 420  # beyond the length at which matrix products split their sums on common CPUs
ENGINE = EngineConfig(num_kv_blocks=200, max_num_seqs=32)
SHORT = 70  # beyond one tile of keys


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model folder with random weights and an output matrix of its own."""
    torch.set_num_threads(1)
    return write_toy_model(tmp_path_factory.mktemp("toy"))


@pytest.fixture(scope="module", params=["none", "int8", "int8_rows"])
def engine(request):
    """Settings for each arithmetic."""
    return replace(ENGINE, quantization=request.param)


class LogitsKeeper(TorchRunner):
    """A runner that keeps each request's logits."""

    def __init__(self, folder, config):
        super().__init__(folder, config)
        self.kept = {}

    def sample(self, logits, requests):
        """Keep the rows, then sample."""
        for row, request in enumerate(requests):
            self.kept.setdefault(request.id, []).append(logits[row].clone())
        return super().sample(logits, requests)


def prompt(seed: int, length: int = PROMPT_LEN) -> tuple[int, ...]:
    """Return random token ids."""
    return tuple(torch.randint(3, 499, (length,), generator=torch.Generator().manual_seed(seed)).tolist())


def logits_of(folder, config: EngineConfig, others: tuple[int, ...] = (), late: bool = False, length: int = PROMPT_LEN):
    """Run the subject among others of the given lengths; return its logits and the loop."""
    runner = LogitsKeeper(folder, config)
    loop = EngineLoop(config, runner, Collector(), FakeClock())
    subject = EngineRequest("subject", prompt(7, length), SamplingParams(12, ignore_eos=True))
    neighbours = [
        EngineRequest(f"n{index}", prompt(index, length), SamplingParams(20, ignore_eos=True))
        for index, length in enumerate(others)
    ]
    for request in [*neighbours, subject] if late else [subject, *neighbours]:
        loop.submit(request)
        if late:
            loop.step()
    finish(loop)
    return torch.stack(runner.kept["subject"]), loop


def finish(loop: EngineLoop) -> None:
    """Make steps until nothing is left to do."""
    while loop.has_work:
        loop.step()


def record(loop: EngineLoop, name: str) -> list[int]:
    """Return a column of the record of all steps."""
    return loop.log.columns(0, loop.log.num_steps - 1)[name]


@pytest.fixture(scope="module")
def alone(folder, engine):
    """The subject's logits when nobody else is there; the toy model does not repeat itself."""
    logits, _ = logits_of(folder, engine)
    assert len(set(logits.argmax(-1).tolist())) >= 8
    return logits


@pytest.mark.parametrize("others", [(5,), (300,), (3, 64, 17), (1, 2, 3, 4, 5, 6, 7)])
@pytest.mark.parametrize("late", [False, True])
def test_neighbours_change_no_bit(folder, engine, alone, others, late):
    """In any batch and any place in it, the logits are those of the request alone."""
    logits, _ = logits_of(folder, engine, others, late)
    assert torch.equal(logits, alone)


@pytest.mark.parametrize("batch", [2, 3, 4, 5, 8, 13, 16, 31, 32])
@pytest.mark.parametrize("place", ["first", "middle", "last"])
def test_no_place_in_a_batch_up_to_32_changes_a_bit(folder, engine, short_alone, batch, place):
    """First, in the middle or last of 2 to 32 requests that decode together, the logits are those of it alone."""
    index = {"first": 0, "middle": batch // 2, "last": batch - 1}[place]
    runner = LogitsKeeper(folder, engine)
    loop = EngineLoop(engine, runner, Collector(), FakeClock())
    requests = [
        EngineRequest(f"n{other}", prompt(100 + other, 5 + other), SamplingParams(12, ignore_eos=True))
        for other in range(batch)
    ]
    requests[index] = EngineRequest("subject", prompt(7, SHORT), SamplingParams(12, ignore_eos=True))
    for request in requests:
        loop.submit(request)
    finish(loop)
    assert max(record(loop, "decode_tokens")) == batch
    assert loop.log.ids(2, 2)[0][0].index("subject") == index
    assert torch.equal(torch.stack(runner.kept["subject"]), short_alone)


@pytest.fixture(scope="module")
def short_alone(folder, engine):
    """The logits of a shorter subject when nobody else is there."""
    return logits_of(folder, engine, length=SHORT)[0]


@pytest.mark.parametrize("budget", [1, 7, 16, 64, 100, 333])
def test_chunks_change_no_bit(folder, engine, alone, budget):
    """A prompt computed in chunks gives the logits of the whole."""
    logits, loop = logits_of(folder, replace(engine, max_num_batched_tokens=budget))
    assert torch.equal(logits, alone)
    assert loop.log.num_steps >= PROMPT_LEN // budget


@pytest.mark.parametrize("chunk", [5, 48])
def test_a_chunk_size_of_its_own_changes_no_bit(folder, engine, alone, chunk):
    """Chunks by the threshold, beside a neighbour that decodes meanwhile, change nothing either."""
    logits, loop = logits_of(folder, replace(engine, long_prefill_token_threshold=chunk), (4,), late=True)
    assert max(record(loop, "prefill_tokens")) <= chunk
    assert torch.equal(logits, alone)


@pytest.mark.parametrize("common", [416, 419, 420, 200])
def test_a_prefix_hit_changes_no_bit(folder, engine, alone, common):
    """Blocks computed for somebody else's prompt give the same logits; the record shows how many there were."""
    config = replace(engine, enable_prefix_caching=True)
    runner, output = LogitsKeeper(folder, config), Collector()
    loop = EngineLoop(config, runner, output, FakeClock())
    other = (*prompt(7)[:common], *prompt(8, 30))
    loop.submit(EngineRequest("other", other, SamplingParams(3, ignore_eos=True)))
    finish(loop)
    num_before = loop.log.num_steps
    loop.submit(EngineRequest("subject", prompt(7), SamplingParams(12, ignore_eos=True)))
    finish(loop)
    num_hit = common // 16 * 16
    assert loop.log.columns(num_before, num_before)["cached_tokens"] == [num_hit]
    assert loop.log.columns(num_before, num_before)["prefill_tokens"] == [PROMPT_LEN - num_hit]
    assert output.cached_by_id == {"other": 0, "subject": num_hit}
    assert torch.equal(torch.stack(runner.kept["subject"]), alone)


def test_a_second_thread_changes_no_bit(folder, engine, alone):
    """Work that is shared by two threads is cut so that no sum changes: alone, in a batch, and in chunks."""
    torch.set_num_threads(2)
    try:
        for config, others in ((engine, ()), (engine, (3, 64, 17)), (replace(engine, max_num_batched_tokens=50), (9,))):
            logits, _ = logits_of(folder, config, others)
            assert torch.equal(logits, alone)
    finally:
        torch.set_num_threads(1)


@pytest.mark.parametrize("cancelled", [False, True], ids=["found", "cancelled meanwhile"])
def test_numbers_that_are_none_end_their_request_and_no_other(folder, engine, alone, cancelled):
    """NaN in one request's cache fails it; the bits of its neighbour and of its blocks' next owner do not change.

    That holds as well if the request is cancelled in the very step that would have shown it.
    """
    config = replace(engine, num_kv_blocks=58)
    runner, output = LogitsKeeper(folder, config), Collector()
    unwanted: list[str] = []
    loop = EngineLoop(config, runner, output, FakeClock(), poll=lambda: [loop.cancel(name) for name in unwanted])
    broken = EngineRequest("broken", prompt(3, 450), SamplingParams(9, ignore_eos=True))
    loop.submit(broken)
    loop.submit(EngineRequest("subject", prompt(7), SamplingParams(12, ignore_eos=True)))
    loop.step()
    for pool in runner._cache.layers:
        pool[broken.block_ids] = float("nan")
    unwanted += ["broken"] if cancelled else []
    loop.step()
    assert output.failed_ids == ([] if cancelled else ["broken"])
    heir = EngineRequest("heir", prompt(7), SamplingParams(12, ignore_eos=True))
    loop.submit(heir)
    loop.step()
    assert len(heir.block_ids) == 27  # of 58 the neighbour holds 27, so most of these were the broken one's
    finish(loop)
    for name in ("subject", "heir"):
        assert torch.equal(torch.stack(runner.kept[name]), alone)


def test_a_preemption_changes_no_bit(folder, engine, alone):
    """A request that lost its blocks and was computed again, its own output included, gives the same logits."""
    config = replace(engine, num_kv_blocks=43)  # full with both prompts
    logits, loop = logits_of(folder, config, (250,), late=True)
    assert any(ids == ["subject"] for ids in loop.log.ids(0, loop.log.num_steps - 1)[1])
    assert torch.equal(logits, alone)


def test_attention_equals_the_textbook(folder):
    """Tiled attention over shuffled blocks is softmax(QKᵀ)V with a causal mask."""
    generator = torch.Generator().manual_seed(3)
    keys, values = (torch.randn(2, 192, 64, generator=generator) for _ in range(2))
    queries = torch.randn(130, 6, 64, generator=generator)
    masks = attention.causal_masks(50, 130, 3, torch.device("cpu"))
    ours = attention.attend(queries, keys, values, 50, masks).view(130, 6, 64)
    scores = torch.einsum("thd,hsd->hts", queries.double(), keys.repeat_interleave(3, 0).double())
    hidden = torch.arange(192) > torch.arange(50, 180)[:, None]
    shares = scores.masked_fill(hidden, float("-inf")).softmax(-1)
    theirs = torch.einsum("hts,hsd->thd", shares, values.repeat_interleave(3, 0).double())
    torch.testing.assert_close(ours.double(), theirs, rtol=1e-5, atol=1e-5)


def attend_at_once(queries, keys, values, start, masks):
    """Attend as the textbook does: one product over exactly the keys that there are."""
    num_tokens, num_heads, head_dim = queries.shape
    end = start + num_tokens
    mask = torch.arange(end) <= torch.arange(start, end)[:, None]
    mixed = torch.nn.functional.scaled_dot_product_attention(
        queries.transpose(0, 1)[None], keys[None, :, :end], values[None, :, :end], attn_mask=mask, scale=1.0,
        enable_gqa=True,
    )  # fmt: skip
    return mixed[0].transpose(0, 1).reshape(num_tokens, num_heads * head_dim)


@pytest.mark.parametrize("fault", ["plain linear", "plain attention"])
def test_planted_faults_are_seen(folder, monkeypatch, fault):
    """Both measures are needed: with torch's plain operation in place of either, bits differ somewhere."""
    if fault == "plain linear":
        monkeypatch.setattr(linear, "_can_prepack", lambda: False)
    else:
        monkeypatch.setattr(decoder, "attend", attend_at_once)
    whole, _ = logits_of(folder, ENGINE)
    pieces, _ = logits_of(folder, replace(ENGINE, max_num_batched_tokens=7), (3,))
    torch.testing.assert_close(whole, pieces, rtol=1e-3, atol=1e-3)
    assert not torch.equal(whole, pieces)


def test_without_a_kv_cache_no_bit_changes(folder, engine, short_alone):
    """What is computed again for each token, all of it, gives the logits that the cache would have given."""
    logits, loop = logits_of(folder, replace(engine, use_kv_cache=False), length=SHORT)
    assert record(loop, "prefill_tokens") == list(range(SHORT, SHORT + 12))
    assert torch.equal(logits, short_alone)


def test_the_fast_product_for_one_row_gives_up_the_bits_and_nothing_else(folder):
    """Without ``batch_invariant`` the logits are the same up to rounding, and not the same bits."""
    invariant, _ = logits_of(folder, ENGINE, length=SHORT)
    fast, _ = logits_of(folder, replace(ENGINE, batch_invariant=False), length=SHORT)
    torch.testing.assert_close(fast, invariant, rtol=1e-3, atol=1e-3)
    assert not torch.equal(fast, invariant)
    assert torch.equal(fast.argmax(-1), invariant.argmax(-1))

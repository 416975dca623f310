"""A request's logits have the same bits alone, in any batch, in any chunks, and after a preemption.

A small random model with the default model's head size; the last test plants the faults that the others must catch.
"""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

pytestmark = pytest.mark.engine

torch = pytest.importorskip("torch")

from safetensors.torch import save_file  # noqa: E402 (after torch is known to be here)

from demo_engine.core.config import EngineConfig  # noqa: E402
from demo_engine.core.loop import EngineLoop  # noqa: E402
from demo_engine.core.request import EngineRequest, SamplingParams  # noqa: E402
from demo_engine.runner import attention, decoder, linear  # noqa: E402
from demo_engine.runner.runner import TorchRunner  # noqa: E402
from engine_fakes import Collector, FakeClock  # noqa: E402

CONFIG = {
    "model_type": "llama", "hidden_size": 192, "intermediate_size": 512, "num_hidden_layers": 3,
    "num_attention_heads": 3, "num_key_value_heads": 1, "vocab_size": 499, "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0, "max_position_embeddings": 2048, "tie_word_embeddings": False, "eos_token_id": 2,
}  # fmt: skip
PROMPT_LEN = 420  # beyond the length at which matrix products split their sums on common CPUs
ENGINE = EngineConfig(num_kv_blocks=160)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model folder with random weights and an output matrix of its own."""
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(1)
    hidden, inner, kv = CONFIG["hidden_size"], CONFIG["intermediate_size"], 64

    def random(rows, columns):
        return torch.randn(rows, columns, generator=generator) / columns**0.5

    tensors = {"model.embed_tokens.weight": torch.randn(CONFIG["vocab_size"], hidden, generator=generator)}
    for index in range(CONFIG["num_hidden_layers"]):
        shapes = {
            "self_attn.q_proj": (hidden, hidden), "self_attn.k_proj": (kv, hidden), "self_attn.v_proj": (kv, hidden),
            "self_attn.o_proj": (hidden, hidden), "mlp.gate_proj": (inner, hidden), "mlp.up_proj": (inner, hidden),
            "mlp.down_proj": (hidden, inner),
        }  # fmt: skip
        for name, (rows, columns) in shapes.items():
            tensors[f"model.layers.{index}.{name}.weight"] = 2 * random(rows, columns)
        for name in ("input_layernorm", "post_attention_layernorm"):
            tensors[f"model.layers.{index}.{name}.weight"] = torch.ones(hidden)
    tensors |= {"model.norm.weight": torch.ones(hidden), "lm_head.weight": random(CONFIG["vocab_size"], hidden)}
    path = tmp_path_factory.mktemp("toy")
    save_file(tensors, path / "model.safetensors")
    (path / "config.json").write_text(json.dumps(CONFIG))
    return path


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


def logits_of(folder, config: EngineConfig, others: tuple[int, ...] = (), late: bool = False):
    """Run the subject among others of the given lengths; return its logits and the loop."""
    runner = LogitsKeeper(folder, config)
    loop = EngineLoop(config, runner, Collector(), FakeClock())
    subject = EngineRequest("subject", prompt(7), SamplingParams(12, ignore_eos=True))
    neighbours = [
        EngineRequest(f"n{index}", prompt(index, length), SamplingParams(20, ignore_eos=True))
        for index, length in enumerate(others)
    ]
    for request in [*neighbours, subject] if late else [subject, *neighbours]:
        loop.submit(request)
        if late:
            loop.step()
    while loop.has_work:
        loop.step()
    return torch.stack(runner.kept["subject"]), loop


@pytest.fixture(scope="module")
def alone(folder):
    """The subject's logits when nobody else is there; the toy model does not repeat itself."""
    logits, _ = logits_of(folder, ENGINE)
    assert len(set(logits.argmax(-1).tolist())) >= 8
    return logits


@pytest.mark.parametrize("others", [(5,), (300,), (3, 64, 17), (1, 2, 3, 4, 5, 6, 7)])
@pytest.mark.parametrize("late", [False, True])
def test_neighbours_change_no_bit(folder, alone, others, late):
    """In any batch and any place in it, the logits are those of the request alone."""
    logits, _ = logits_of(folder, ENGINE, others, late)
    assert torch.equal(logits, alone)


@pytest.mark.parametrize("budget", [1, 7, 16, 64, 100, 333])
def test_chunks_change_no_bit(folder, alone, budget):
    """A prompt computed in chunks gives the logits of the whole."""
    logits, loop = logits_of(folder, replace(ENGINE, max_num_batched_tokens=budget))
    assert torch.equal(logits, alone)
    assert loop.log.num_steps >= PROMPT_LEN // budget


def test_a_preemption_changes_no_bit(folder, alone):
    """A request that lost its blocks and was computed again, its own output included, gives the same logits."""
    config = replace(ENGINE, num_kv_blocks=43)  # full with both prompts
    logits, loop = logits_of(folder, config, (250,), late=True)
    assert any(ids == ["subject"] for ids in loop.log.ids(0, loop.log.num_steps - 1)[1])
    assert torch.equal(logits, alone)


def test_attention_equals_the_textbook(folder):
    """Tiled attention over shuffled blocks is softmax(QKᵀ)V with a causal mask."""
    generator = torch.Generator().manual_seed(3)
    keys, values = (torch.randn(2, 192, 64, generator=generator) for _ in range(2))
    queries = torch.randn(130, 6, 64, generator=generator)
    ours = attention.attend(queries, keys, values, start=50).view(130, 6, 64)
    scores = torch.einsum("thd,hsd->hts", queries.double(), keys.repeat_interleave(3, 0).double())
    hidden = torch.arange(192) > torch.arange(50, 180)[:, None]
    shares = scores.masked_fill(hidden, float("-inf")).softmax(-1)
    theirs = torch.einsum("hts,hsd->thd", shares, values.repeat_interleave(3, 0).double())
    torch.testing.assert_close(ours.double(), theirs, rtol=1e-5, atol=1e-5)


def attend_at_once(queries, keys, values, start):
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

"""How much of the model's text int8 leaves as it was, on text that nobody wrote for this project.

The text is what Python's own library says about itself. Each next token is predicted from the true ones before it.
"""

from __future__ import annotations

import importlib
import inspect
from dataclasses import replace
from typing import NamedTuple

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.engine]

torch = pytest.importorskip("torch")

from demo_engine.api.tokenizer import PromptTokenizer  # noqa: E402 (after torch is known to be here)
from demo_engine.core.block_manager import BlockManager  # noqa: E402
from demo_engine.core.config import EngineConfig  # noqa: E402
from demo_engine.core.request import EngineRequest, SamplingParams, Scheduled  # noqa: E402
from demo_engine.runner.runner import TorchRunner  # noqa: E402
from demo_engine.weights import open_model  # noqa: E402

MODULES = ("difflib", "decimal", "random", "pickletools", "doctest", "statistics", "argparse", "string", "bisect")
MIN_TOKENS, PIECE = 2_000, 400
MIN_AGREEMENT, MAX_PERPLEXITY_RATIO = 0.96, 1.01


class Quality(NamedTuple):
    """What one arithmetic makes of the text."""

    likeliest: torch.Tensor
    """The most likely token after each one."""
    perplexity: float


@pytest.fixture(scope="module")
def pieces():
    """The library's descriptions as token ids, in pieces that are predicted one by one."""
    tokenizer = PromptTokenizer(open_model().path / "tokenizer.json")
    text = "\n\n".join(inspect.getdoc(importlib.import_module(name)) or "" for name in MODULES)
    ids = tokenizer.encode(text)
    whole = [ids[start : start + PIECE] for start in range(0, len(ids) - PIECE + 1, PIECE)]
    assert sum(len(piece) - 1 for piece in whole) >= MIN_TOKENS
    return whole


def quality_of(pieces, quantization: str) -> Quality:
    """Predict every token but the first of each piece."""
    torch.set_num_threads(1)
    config = EngineConfig(num_kv_blocks=-(-PIECE // 16), quantization=quantization)
    runner = TorchRunner(open_model().path, config)
    likeliest, losses = [], []
    for piece in pieces:
        request = EngineRequest("piece", tuple(piece), SamplingParams(1))
        BlockManager(config.num_kv_blocks, config.block_size).allocate(request, PIECE)
        batch = replace(runner.prepare([Scheduled.up_to(request, PIECE)]), sampled_rows=torch.arange(PIECE - 1))
        logits = runner.forward(batch, lambda: None)
        likeliest.append(logits.argmax(-1))
        losses.append(torch.nn.functional.cross_entropy(logits, torch.tensor(piece[1:])))
    return Quality(torch.cat(likeliest), torch.stack(losses).mean().exp().item())


@pytest.fixture(scope="module")
def exact(pieces):
    """What float32 makes of it."""
    return quality_of(pieces, "none")


def passes(name: str, exact: Quality, quantized: Quality) -> bool:
    """Print agreement and perplexity, and tell whether both are good enough."""
    agreement = (exact.likeliest == quantized.likeliest).float().mean().item()
    ratio = quantized.perplexity / exact.perplexity
    print(  # noqa: T201 (the figures are the point)
        f"{name}: {len(exact.likeliest)} tokens, {agreement:.2%} the same most likely token, "
        f"perplexity {exact.perplexity:.3f} -> {quantized.perplexity:.3f} ({ratio - 1:+.2%})"
    )
    return agreement >= MIN_AGREEMENT and ratio <= MAX_PERPLEXITY_RATIO


def test_two_parts_keep_the_text(pieces, exact):
    """With activations in two parts, 96 % of the predictions stay, and perplexity grows by 1 % at most."""
    assert passes("int8", exact, quality_of(pieces, "int8"))


def test_one_part_does_not(pieces, exact):
    """With activations in one part the same gate closes: that is what the speed costs."""
    assert not passes("int8_rows", exact, quality_of(pieces, "int8_rows"))

"""``bench parity`` and ``bench batches``: the first two questions to a device that this engine has not run on yet."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Literal

from demo_engine.api.template import Message, render
from demo_engine.api.tokenizer import PromptTokenizer
from demo_engine.bench.figures import Figure, Target
from demo_engine.bench.jobs import Side
from demo_engine.bench.sides import running_side

Device = Literal["cpu", "cuda"]
PARITY_TOKENS, PARITY_QUICK_TOKENS = 64, 8
PROMPTS = (
    "What is the capital of France?",
    "Write a haiku about rain on a tin roof.",
    "List five uses of a paper clip.",
    "Explain to a child why the sky is blue.",
    "def fibonacci(n):",
    "Count from 1 to 20.",
)
NUM_QUICK_PROMPTS = 2
BATCHES, QUICK_BATCHES = (1, 2, 4, 8, 16, 32, 64), (1, 4)
BATCH_TOKENS, BATCH_QUICK_TOKENS = 32, 6
REPEATS = 3
PARITY_HOW = ("greedy tokens of this engine and of transformers on the same device, prompt by prompt.",)
BATCHES_HOW = (
    f"the fastest of {REPEATS} runs, one thread on the processor's side; time from the first token of each request.",
)


def bench_parity(model: str, device: Device, quick: bool, say: Callable[[str], None]) -> list[Figure]:
    """Count the prompts that this engine and transformers continue with the same greedy tokens."""
    tokenizer = PromptTokenizer(Path(model) / "tokenizer.json")
    texts = PROMPTS[:NUM_QUICK_PROMPTS] if quick else PROMPTS
    num_tokens = PARITY_QUICK_TOKENS if quick else PARITY_TOKENS
    say("loading the models")
    num_equal = 0
    with (
        running_side(Side("engine", model, device)) as ours,
        running_side(Side("transformers", model, device)) as theirs,
    ):
        for text in texts:
            say(text)
            ids = tokenizer.encode(render([Message("user", text)]))
            num_equal += ours.greedy(ids, num_tokens) == theirs.greedy(ids, num_tokens)
    baseline = f"transformers {version('transformers')} generate, float32, greedy, {num_tokens} tokens, {device}"
    unit = f"of {len(texts)} prompts"
    return [Figure("parity", num_equal, unit, baseline, len(texts), Target(len(texts), "at least"))]


def bench_batches(model: str, device: Device, quick: bool, say: Callable[[str], None]) -> list[Figure]:
    """Measure throughput from one request alone up to many together."""
    num_tokens = BATCH_QUICK_TOKENS if quick else BATCH_TOKENS
    speeds: dict[int, float] = {}
    say("loading the model")
    with running_side(Side("engine", model, device)) as side:
        side.decode(1, 1, num_tokens)
        for size in QUICK_BATCHES if quick else BATCHES:
            say(f"{size} together")
            speeds[size] = max(side.decode(1, size, num_tokens).tokens_per_s for _ in range(REPEATS))
    baseline = f"this engine, one request alone, {device}"
    return [Figure(f"batch_{size}", speed, "tokens/s", baseline, speeds[1]) for size, speed in speeds.items()]

"""What one side of a comparison is asked to do, and what it answers: a line of JSON each."""

from __future__ import annotations

import random
from typing import Literal

import msgspec

from demo_engine.runner.quantization import Quantization

Kind = Literal["engine", "transformers", "llama-cpp"]
PROMPT_TOKENS = 32
"""Of each request of a ``DecodeJob``."""


class Side(msgspec.Struct, frozen=True):
    """One side: what computes, and how."""

    kind: Kind
    model: str
    """A model's folder."""
    device: Literal["cpu", "cuda"] = "cpu"
    batch_invariant: bool = True
    quantization: Quantization = "none"


class DecodeJob(msgspec.Struct, frozen=True, tag=True):
    """Answer requests together, each with ``num_tokens`` tokens."""

    num_threads: int
    num_requests: int
    num_tokens: int


class ContextJob(msgspec.Struct, frozen=True, tag=True):
    """Compute the one newest token of a request that is this long, some times over."""

    num_threads: int
    num_context_tokens: int
    num_repeats: int


class GreedyJob(msgspec.Struct, frozen=True, tag=True):
    """Continue a prompt with the most likely tokens."""

    prompt_ids: list[int]
    num_tokens: int


class RecordingJob(msgspec.Struct, frozen=True, tag=True):
    """Decode one request with the recorder on and off in turn."""

    num_threads: int
    num_rounds: int
    steps_a_turn: int


Job = DecodeJob | ContextJob | GreedyJob | RecordingJob


class Spent(msgspec.Struct, frozen=True):
    """What a job took, from each request's first token to its last."""

    num_tokens: int
    """Tokens of all requests, the first of each aside."""
    wall_ns: int
    cpu_ns: int

    @property
    def tokens_per_s(self) -> float:
        """Throughput."""
        return self.num_tokens / self.wall_ns * 1e9

    @property
    def cpu_ms_per_token(self) -> float:
        """Processor time a token, of all threads."""
        return self.cpu_ns / self.num_tokens / 1e6


class Recorded(msgspec.Struct, frozen=True):
    """What recording adds to a step, round by round, and what a step takes without it, in processor time."""

    added_ns: list[float]
    step_ns: float


def prompt_ids(number: int, num_tokens: int, vocab_size: int) -> list[int]:
    """Return a prompt of arbitrary tokens, the same for each side; another number gives another prompt."""
    return random.Random(number).choices(range(vocab_size), k=num_tokens)  # noqa: S311 (no secret)

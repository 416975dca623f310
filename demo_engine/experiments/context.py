"""What the experiments are planned from: the machine as calibrated, the model's shape, and prompts of exact length."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from demo_engine.api.template import Message, render
from demo_engine.api.tokenizer import PromptTokenizer
from demo_engine.core.config import EngineConfig
from demo_engine.core.loop import StepCost
from demo_engine.core.request import EngineRequest, SamplingParams, Scheduled
from demo_engine.errors import UsageError
from demo_engine.recorder.calibration import Calibration
from demo_engine.runner.shape import ModelShape
from demo_engine.weights import ModelFolder

OPS_PER_LAYER = 40
"""Small operations of a layer, counted once with torch's profiler."""
_COMMON_WORDS = (
    "time year people way day man thing woman life child world school state family student group country problem hand "
    "part place case week company system program question work government number night point home water room mother "
    "area money story fact month lot right study book eye job word business issue side kind head house service friend "
    "father power hour game line end member law car city community name president team minute idea kid body "
    "information back parent face others level office door health person art war history party result change music "
    "reason research girl field moment air teacher force education"
)


@dataclass(frozen=True)
class Context:
    """Everything that an experiment's plan may depend on."""

    calibration: Calibration
    shape: ModelShape
    tokenizer: PromptTokenizer
    base: EngineConfig
    """The engine as asked for on the command line; arms change one setting of it."""
    quick: bool

    def engine(self, **settings: Any) -> EngineConfig:
        """Return the base configuration with some settings changed."""
        return replace(self.base, **settings)

    def words(self, num_tokens: int, seed: str) -> str:
        """Return a text of exactly this many tokens, the same for the same seed, without the chat template.

        Raises:
            ValueError: The tokenizer does not have the words as single tokens.
        """
        chosen = random.Random(seed).choices(_COMMON_WORDS.split(), k=num_tokens)  # noqa: S311 (a load, not a secret)
        text = " ".join(chosen)
        if self.num_tokens(text) != num_tokens:
            raise ValueError(f"this tokenizer makes {self.num_tokens(text)} tokens of {num_tokens} common words")
        return text

    def num_tokens(self, text: str) -> int:
        """Return how many tokens a text has as it stands."""
        return len(self.tokenizer.encode(text))

    def num_chat_tokens(self, prompt: str) -> int:
        """Return how many tokens a user's message has within the chat template."""
        return len(self.tokenizer.encode(render([Message("user", prompt)])))

    def step_ns(self, prefills: Sequence[tuple[int, int]] = (), decodes: Sequence[int] = ()) -> float:
        """Predict a step from the calibration alone, by the roofline: the slower of arithmetic and memory.

        Source: Williams, Waterman, Patterson, "Roofline", CACM 52(4), 2009; plus a fixed cost for each operation.

        Args:
            prefills: Prompts: (tokens computed before, tokens in this step).
            decodes: Requests that get their next token: how many tokens each holds already.
        """
        cost = self.step_cost(prefills, decodes)
        arithmetic_ns = cost.flops / self.calibration.gemm_flops_per_s * 1e9
        memory_ns = (cost.weight_bytes + cost.kv_bytes) / self.calibration.read_bytes_per_s * 1e9
        overhead_ns = self.shape.num_layers * OPS_PER_LAYER * self.calibration.op_overhead_ns
        return max(arithmetic_ns, memory_ns) + overhead_ns

    def step_cost(self, prefills: Sequence[tuple[int, int]] = (), decodes: Sequence[int] = ()) -> StepCost:
        """Return what a step must at least read and compute; the arguments are those of ``step_ns``."""
        items = [_scheduled(start, num_tokens) for start, num_tokens in prefills]
        items += [_scheduled(num_cached, 1) for num_cached in decodes]
        return self.shape.step_cost(items, self.base.quantization)

    @property
    def calibrated(self) -> dict[str, int | float]:
        """Return the calibrated speeds that every prediction rests on, by name."""
        return {
            "gemm_flops_per_s": round(self.calibration.gemm_flops_per_s),
            "read_bytes_per_s": round(self.calibration.read_bytes_per_s),
            "op_overhead_ns": round(self.calibration.op_overhead_ns),
            "ops": self.shape.num_layers * OPS_PER_LAYER,
        }


def make_context(folder: ModelFolder, calibration: Calibration, base: EngineConfig, *, quick: bool) -> Context:
    """Return what plans for a model are made from.

    Raises:
        UsageError: The model's configuration or its tokenizer cannot be used.
    """
    file = folder.path / "tokenizer.json"
    try:
        tokenizer = PromptTokenizer(file)
    except Exception as error:  # the tokenizers library raises nothing more special
        raise UsageError(f"{file}: {error}; get the file again") from error
    return Context(calibration, ModelShape.from_config(folder.config()), tokenizer, base, quick)


def _scheduled(start: int, num_tokens: int) -> Scheduled:
    end = start + num_tokens
    request = EngineRequest("prediction", (0,) * end, SamplingParams(1))
    request.num_computed_tokens = start
    return Scheduled.up_to(request, end)

"""The other sides of a comparison: transformers, and llama.cpp where it is installed."""

from __future__ import annotations

import importlib
import time
from typing import Any

import torch

from demo_engine.bench.jobs import PROMPT_TOKENS, DecodeJob, GreedyJob, Side, Spent, prompt_ids
from demo_engine.weights.package import find_gguf


class TransformersSide:
    """``generate`` of transformers on the same weights: float32, greedy, its default cache and attention."""

    def __init__(self, side: Side) -> None:
        from transformers import AutoModelForCausalLM
        from transformers.utils.logging import disable_progress_bar

        disable_progress_bar()
        model = AutoModelForCausalLM.from_pretrained(side.model, dtype=torch.float32, local_files_only=True)
        self._model = model.to(side.device).eval()
        self._device = side.device

    def decode(self, job: DecodeJob) -> Spent:
        """Answer requests of equal length as one batch."""
        torch.set_num_threads(job.num_threads)
        vocab_size = self._model.config.vocab_size
        prompts = [prompt_ids(number, PROMPT_TOKENS, vocab_size) for number in range(job.num_requests)]
        stamps = _FirstTokenStamps()
        self._generate(prompts, job.num_tokens, stamps)
        wall_ns, cpu_ns = stamps.elapsed()
        return Spent(job.num_requests * (job.num_tokens - 1), wall_ns, cpu_ns)

    def greedy(self, job: GreedyJob) -> list[int]:
        """Continue a prompt."""
        output: list[int] = self._generate([job.prompt_ids], job.num_tokens)[0, len(job.prompt_ids) :].tolist()
        return output

    @torch.inference_mode()
    def _generate(self, prompts: list[list[int]], num_tokens: int, streamer: Any = None) -> Any:
        ids = torch.tensor(prompts, device=self._device)
        return self._model.generate(
            ids, attention_mask=torch.ones_like(ids), max_new_tokens=num_tokens, do_sample=False, eos_token_id=None,
            pad_token_id=0, streamer=streamer,
        )  # fmt: skip


class LlamaCppSide:
    """llama.cpp on the file that the default model is converted from, whose weights have 4 bits."""

    def __init__(self, side: Side) -> None:
        self._models: dict[int, Any] = {}

    def decode(self, job: DecodeJob) -> Spent:
        """Answer one request."""
        model = self._model(job.num_threads)
        model.reset()
        tokens = model.generate(prompt_ids(0, PROMPT_TOKENS, model.n_vocab()), temp=0.0)
        next(tokens)
        start_ns, start_cpu_ns = time.perf_counter_ns(), time.process_time_ns()
        for _ in range(job.num_tokens - 1):
            next(tokens)
        return Spent(job.num_tokens - 1, time.perf_counter_ns() - start_ns, time.process_time_ns() - start_cpu_ns)

    def _model(self, num_threads: int) -> Any:
        if num_threads not in self._models:
            llama_cpp = importlib.import_module("llama_cpp")  # has no types, and is rarely here
            self._models[num_threads] = llama_cpp.Llama(
                str(find_gguf()), n_ctx=512, n_threads=num_threads, n_threads_batch=num_threads, verbose=False
            )
        return self._models[num_threads]


class _FirstTokenStamps:
    """A streamer that notes the instant of the first token; what is put before it is the prompt."""

    def __init__(self) -> None:
        self._num_puts = 0
        self._wall_ns = self._cpu_ns = 0

    def put(self, value: Any) -> None:
        self._num_puts += 1
        if self._num_puts == 2:
            self._wall_ns, self._cpu_ns = time.perf_counter_ns(), time.process_time_ns()

    def end(self) -> None:
        pass

    def elapsed(self) -> tuple[int, int]:
        """Return wall and processor time since the first token."""
        return time.perf_counter_ns() - self._wall_ns, time.process_time_ns() - self._cpu_ns

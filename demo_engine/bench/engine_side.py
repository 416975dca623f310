"""This engine's side of a comparison: its loop and its runner in this process, without the API."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import torch

from demo_engine.bench.jobs import (
    PROMPT_TOKENS,
    ContextJob,
    DecodeJob,
    GreedyJob,
    Recorded,
    RecordingJob,
    Side,
    Spent,
    prompt_ids,
)
from demo_engine.bench.null_runner import Finished
from demo_engine.bench.recording import Switch, compare
from demo_engine.core.block_manager import BlockManager
from demo_engine.core.config import EngineConfig
from demo_engine.core.loop import EngineLoop
from demo_engine.core.request import EngineRequest, SamplingParams, Scheduled
from demo_engine.runner.runner import TorchRunner

LONGEST_CONTEXT = 1536
_CHUNK = 256


class EngineSide:
    """The engine with the model loaded."""

    def __init__(self, side: Side) -> None:
        self._config = EngineConfig(
            device=side.device, batch_invariant=side.batch_invariant, quantization=side.quantization, max_num_seqs=64
        )
        self._runner = TorchRunner(Path(side.model), self._config)
        self._context: EngineRequest | None = None

    def decode(self, job: DecodeJob) -> Spent:
        """Answer requests together; the time counts from the step that computes all prompts."""
        torch.set_num_threads(job.num_threads)
        loop = self._loop(time.perf_counter_ns)
        for number in range(job.num_requests):
            loop.submit(self._request(number, job.num_tokens))
        loop.step()
        start_ns, start_cpu_ns = time.perf_counter_ns(), time.process_time_ns()
        while loop.has_work:
            loop.step()
        wall_ns, cpu_ns = time.perf_counter_ns() - start_ns, time.process_time_ns() - start_cpu_ns
        return Spent(job.num_requests * (job.num_tokens - 1), wall_ns, cpu_ns)

    def greedy(self, job: GreedyJob) -> list[int]:
        """Continue a prompt."""
        request = EngineRequest("greedy", tuple(job.prompt_ids), SamplingParams(job.num_tokens, ignore_eos=True))
        loop = self._loop(time.perf_counter_ns)
        loop.submit(request)
        while loop.has_work:
            loop.step()
        return request.output_ids

    def context(self, job: ContextJob) -> Spent:
        """Compute one token at the end of a context, again and again."""
        torch.set_num_threads(job.num_threads)
        if self._context is None:
            self._context = self._filled(LONGEST_CONTEXT)
        last = job.num_context_tokens
        item = Scheduled(self._context, last - 1, last, samples=True, is_prefill=False)
        start_ns, start_cpu_ns = time.perf_counter_ns(), time.process_time_ns()
        for _ in range(job.num_repeats):
            self._compute(item)
        return Spent(job.num_repeats, time.perf_counter_ns() - start_ns, time.process_time_ns() - start_cpu_ns)

    def recording(self, job: RecordingJob) -> Recorded:
        """Decode one request with the recorder on and off in turn."""
        torch.set_num_threads(job.num_threads)
        switch = Switch()
        loop = self._loop(switch.clock_ns)
        loop.submit(self._request(0, 2 + (4 * job.num_rounds + 1) * job.steps_a_turn))
        loop.step()
        return compare(loop, switch, job.num_rounds, job.steps_a_turn)

    def _loop(self, clock_ns: Callable[[], int]) -> EngineLoop:
        return EngineLoop(self._config, self._runner, Finished(), clock_ns)

    def _request(self, number: int, num_tokens: int) -> EngineRequest:
        ids = prompt_ids(number, PROMPT_TOKENS, self._runner.shape.vocab_size)
        return EngineRequest(f"r{number}", tuple(ids), SamplingParams(num_tokens, ignore_eos=True))

    def _filled(self, num_tokens: int) -> EngineRequest:
        """Return a request whose keys and values stand in the cache, computed chunk by chunk."""
        ids = tuple(prompt_ids(0, num_tokens, self._runner.shape.vocab_size))
        request = EngineRequest("context", ids, SamplingParams(1))
        BlockManager(self._config.num_kv_blocks, self._config.block_size).allocate(request, num_tokens)
        for end in range(_CHUNK, num_tokens + 1, _CHUNK):
            self._compute(Scheduled.up_to(request, end))
            request.num_computed_tokens = end
        return request

    def _compute(self, item: Scheduled) -> None:
        logits = self._runner.forward(self._runner.prepare([item]), lambda: None)
        self._runner.sample(logits, [item.request] if item.samples else [])

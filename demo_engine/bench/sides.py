"""The sides of a comparison as processes: each with its own model in memory, and still while another one works."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import TypeVar

import msgspec

from demo_engine.bench.jobs import ContextJob, DecodeJob, GreedyJob, Job, Recorded, RecordingJob, Side, Spent
from demo_engine.core.config import EngineConfig
from demo_engine.errors import EngineError

MOST_THREADS = 2
Answer = TypeVar("Answer")


class RunningSide:
    """A process that does one job after the other."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        if process.stdin is None or process.stdout is None:
            raise EngineError("a side of the benchmark has no pipes")
        self._process, self._jobs, self._answers = process, process.stdin, process.stdout
        self._line()  # it is ready

    def decode(self, num_threads: int, num_requests: int, num_tokens: int) -> Spent:
        """Answer requests together."""
        return self._do(DecodeJob(num_threads, num_requests, num_tokens), Spent)

    def greedy(self, prompt_ids: list[int], num_tokens: int) -> list[int]:
        """Continue a prompt with the most likely tokens."""
        return self._do(GreedyJob(prompt_ids, num_tokens), list[int])

    def context(self, num_threads: int, num_context_tokens: int, num_repeats: int) -> Spent:
        """Compute one token at the end of a context, some times over."""
        return self._do(ContextJob(num_threads, num_context_tokens, num_repeats), Spent)

    def recording(self, num_threads: int, num_rounds: int, steps_a_turn: int) -> Recorded:
        """Decode one request with the recorder on and off in turn."""
        return self._do(RecordingJob(num_threads, num_rounds, steps_a_turn), Recorded)

    def _do(self, job: Job, answer: type[Answer]) -> Answer:
        with contextlib.suppress(BrokenPipeError):
            self._jobs.write(msgspec.json.encode(job).decode() + "\n")
            self._jobs.flush()
        return msgspec.json.decode(self._line(), type=answer)

    def _line(self) -> str:
        """Return the next line of output.

        Raises:
            EngineError: The process has ended; it has said why.
        """
        line = self._answers.readline()
        if not line:
            raise EngineError(f"a side of the benchmark ended, with exit code {self._process.wait()}")
        return line


@contextlib.contextmanager
def running_side(side: Side) -> Iterator[RunningSide]:
    """Start a side and wait until its model is loaded; end it on leaving."""
    command = [sys.executable, "-m", "demo_engine.bench", msgspec.json.encode(side).decode()]
    environment = os.environ | EngineConfig(num_threads=MOST_THREADS).environment | {"HF_HUB_OFFLINE": "1"}
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        try:
            yield RunningSide(process)
        finally:
            process.kill()

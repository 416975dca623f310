"""The engine process: loads the model, then serves one socket until the other end closes."""

from __future__ import annotations

import contextlib
import signal
import socket
import sys
import time
from pathlib import Path

import torch

from demo_engine.core.config import EngineConfig
from demo_engine.core.loop import EngineLoop
from demo_engine.core.request import EngineRequest
from demo_engine.errors import EngineError
from demo_engine.ipc.messages import (
    Aborted,
    Accepted,
    Beat,
    Cancel,
    Failed,
    GrammarTimes,
    Ping,
    Pong,
    Ready,
    StepsQuery,
    StepsReply,
    Submit,
)
from demo_engine.runner.grammar import Grammars, SchemaError
from demo_engine.runner.linear import kernel_name
from demo_engine.runner.link import ApiGoneError, Link
from demo_engine.runner.runner import TorchRunner

BEAT_INTERVAL_NS = 200_000_000


class EngineProcess:
    """Joins the loop with the socket: messages are read between layers, and a beat tells that all is well."""

    def __init__(self, link: Link, runner: TorchRunner, grammars: Grammars, config: EngineConfig) -> None:
        self._link = link
        self._grammars = grammars
        self._loop = EngineLoop(config, runner, link, time.perf_counter_ns, self._poll)
        self._last_beat_ns = 0

    def serve(self) -> None:
        """Run until the API process is gone."""
        while True:
            self._handle(0 if self._loop.has_work else BEAT_INTERVAL_NS / 1e9)
            if self._loop.has_work:
                self._loop.step()
                if not self._loop.has_work:
                    self._beat()
            self._beat_if_due()

    def _poll(self) -> None:
        self._handle(0)
        self._beat_if_due()

    def _handle(self, timeout_s: float) -> None:
        for message, read_ns in self._link.receive(timeout_s):
            match message:
                case Submit():
                    self._submit(message, read_ns)
                case Cancel():
                    self._loop.cancel(message.request_id)
                    self._beat()
                case Ping():
                    self._link.send(Pong(message.number, read_ns))
                case StepsQuery():
                    self._answer(message)

    def _submit(self, message: Submit, read_ns: int) -> None:
        grammar, times = None, None
        if message.sampling.json_schema is not None:
            try:
                compiled = self._grammars.compile(message.sampling.json_schema)
            except SchemaError as error:
                self._link.send(Aborted(message.request_id, str(error), is_refusal=True))
                return
            grammar = compiled.grammar
            times = GrammarTimes(time.perf_counter_ns(), compiled.tables_ns, compiled.compile_ns, compiled.is_cached)
        self._loop.submit(
            EngineRequest(
                message.request_id, tuple(message.prompt_ids), message.sampling, priority=message.priority,
                grammar=grammar,
            )
        )  # fmt: skip
        self._link.send(Accepted(message.request_id, read_ns, self._loop.log.num_steps, times))

    def _answer(self, query: StepsQuery) -> None:
        log = self._loop.log
        first, last = query.first, min(query.last, log.num_steps - 1)
        if first < log.oldest() or first > last:
            self._link.send(StepsReply(query.number, {}, [], []))
        else:
            self._link.send(StepsReply(query.number, log.columns(first, last), *log.ids(first, last)))

    def _beat_if_due(self) -> None:
        if time.perf_counter_ns() - self._last_beat_ns >= BEAT_INTERVAL_NS:
            self._beat()

    def _beat(self) -> None:
        scheduler = self._loop.scheduler
        self._last_beat_ns = time.perf_counter_ns()
        self._link.send(
            Beat(
                len(scheduler.running), len(scheduler.waiting), scheduler.blocks.num_used,
                scheduler.blocks.num_blocks, self._loop.log.num_steps, self._loop.log.num_preemptions,
            )
        )  # fmt: skip


def run(file_descriptor: int, model_folder: Path, config: EngineConfig) -> int:
    """Load the model and serve the inherited socket; returns the exit code."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the API process ends us
    torch.set_num_threads(config.num_threads)
    link = Link(socket.socket(fileno=file_descriptor))
    try:
        start_ns = time.perf_counter_ns()
        try:
            runner = TorchRunner(model_folder, config)
        except EngineError as error:
            link.send(Failed(str(error)))
            return error.exit_code
        grammars = Grammars(model_folder / "tokenizer.json", runner.shape.vocab_size, runner.stop_token_ids)
        if config.grammar_tables == "startup":
            with contextlib.suppress(SchemaError):
                grammars.make_tables()
        kernel = kernel_name(
            batch_invariant=config.batch_invariant, device=config.device, quantization=config.quantization
        )
        loaded_ns = time.perf_counter_ns()
        link.send(Ready(kernel, loaded_ns - start_ns, runner.shape.num_parameters, loaded_ns))
        EngineProcess(link, runner, grammars, config).serve()
    except ApiGoneError:
        return 0
    except Exception as error:
        with contextlib.suppress(ApiGoneError):
            link.send(Failed(f"{type(error).__name__}: {error}"))
        print(f"engine: {type(error).__name__}: {error}", file=sys.stderr)  # noqa: T201
        return 1
    return 0

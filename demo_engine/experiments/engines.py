"""Servers that stay up between the runs of an experiment, and between experiments that need the same one."""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Iterator
from types import TracebackType
from typing import Self

from msgspec import structs

from demo_engine.client.records import RunPlan, RunResult
from demo_engine.core.config import EngineConfig
from demo_engine.errors import EngineError
from demo_engine.experiments.plan import ArmPlan
from demo_engine.experiments.processes import Client, Server, new_place, running_client, running_edge, running_server
from demo_engine.network.config import EdgeConfig
from demo_engine.recorder.memory import resident_bytes

MAX_RESIDENT = 2
"""A resident engine holds the model in memory; two are what arms that alternate need."""
_NO_ENGINE = ('"code":"engine_lost"', '"code":"engine_unavailable"')
"""What a server answers whose engine has just ended."""
_Key = tuple[EngineConfig, int, EdgeConfig]
_Pair = tuple[Server, Client]


class Engines:
    """Servers by their settings, each with a client of its own; the longest unused one stops to make room."""

    def __init__(self, model: str, model_id: str) -> None:
        self._model = model
        self._model_id = model_id
        self._resident: OrderedDict[_Key, tuple[_Pair, contextlib.ExitStack]] = OrderedDict()

    def run(self, arm: ArmPlan, plan: RunPlan) -> RunResult:
        """Carry out a run on the arm's engine.

        Raises:
            EngineError: The server, its engine's process or the client ended, or the run has no result; the engine is
                then stopped.
        """
        if arm.new_process:
            return self._run_new(arm, plan)
        try:
            server, client = self._serving(arm)
            result = client.run(plan)
            _need_engine(result)
            return structs.replace(result, resident_bytes=resident_bytes(server.pid))
        except BaseException:
            self._stop(_key(arm))
            raise

    def stop_all(self) -> None:
        """Stop every engine."""
        for key in list(self._resident):
            self._stop(key)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop_all()

    def _run_new(self, arm: ArmPlan, plan: RunPlan) -> RunResult:
        """Carry out a run on a server of its own; its client is there first, and sends when the server is ready."""
        place = new_place()
        with (
            running_client(place, self._model_id) as client,
            running_server(self._model, arm.engine, arm.max_num_queued, place) as server,
        ):
            return structs.replace(client.run(plan), launch=server.launch, resident_bytes=0)

    def _serving(self, arm: ArmPlan) -> _Pair:
        key = _key(arm)
        if key not in self._resident:
            while len(self._resident) >= MAX_RESIDENT:
                self._stop(next(iter(self._resident)))
            with contextlib.ExitStack() as stack:
                pair = stack.enter_context(self._started(arm))
                self._resident[key] = pair, stack.pop_all()
        self._resident.move_to_end(key)
        return self._resident[key][0]

    @contextlib.contextmanager
    def _started(self, arm: ArmPlan) -> Iterator[_Pair]:
        with (
            running_server(self._model, arm.engine, arm.max_num_queued) as server,
            running_edge(server, arm.edge) as edge,
            running_client(server, self._model_id, edge) as client,
        ):
            yield server, client

    def _stop(self, key: _Key) -> None:
        if key in self._resident:
            _, stack = self._resident.pop(key)
            stack.close()


def _need_engine(result: RunResult) -> None:
    """Refuse a run in which the engine's process was lost; one that refuses requests because it is full is sound.

    Raises:
        EngineError: A request met no engine, or lost it.
    """
    for call in result.calls:
        if call.failure and any(code in call.failure for code in _NO_ENGINE):
            raise EngineError(f"the engine's process ended during a run: {call.failure}")


def _key(arm: ArmPlan) -> _Key:
    return arm.engine, arm.max_num_queued, arm.edge

"""The replicas of one server: started together, watched, and replaced one by one when they die or hang."""

from __future__ import annotations

import asyncio
from pathlib import Path

from demo_engine.api.replica import LOOK_S, Replica
from demo_engine.core.config import EngineConfig
from demo_engine.errors import EngineError

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.5, 15.0


class Fleet:
    """All replicas; ``replicas`` always holds the present ones, in their order.

    A server with one replica does not replace it: it refuses requests with 503 until whoever supervises it starts it
    anew, and its exit code says that the engine was lost.
    """

    def __init__(self, model_folder: Path, config: EngineConfig) -> None:
        self.replicas = [Replica(model_folder, config, index) for index in range(config.replicas)]
        self._model_folder = model_folder
        self._config = config

    @property
    def is_whole(self) -> bool:
        """Whether no replica is lost."""
        return all(replica.lost is None for replica in self.replicas)

    async def start(self) -> None:
        """Start all and wait until their models are loaded.

        Raises:
            EngineError: One could not load the model.
        """
        await asyncio.gather(*(replica.start() for replica in self.replicas))

    async def keep(self) -> None:
        """Watch the replicas, and replace those that are lost, until cancelled."""
        await asyncio.gather(*(self._keep(index) for index in range(len(self.replicas))))

    async def stop(self) -> None:
        """End all processes."""
        await asyncio.gather(*(replica.stop() for replica in self.replicas))

    async def _keep(self, index: int) -> None:
        """Replace a replica whenever it is lost; the more often it fails to start, the later."""
        pause_s = _FIRST_PAUSE_S
        await self._watch(index)
        while len(self.replicas) > 1:
            await self.replicas[index].stop()
            await asyncio.sleep(pause_s)
            replica = self.replicas[index] = Replica(self._model_folder, self._config, index)
            starting = asyncio.create_task(_try_to_start(replica))
            try:
                await self._watch(index)  # it may hang before it has said all that is asked of it at the start
            finally:
                starting.cancel()
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S) if replica.ready is None else _FIRST_PAUSE_S

    async def _watch(self, index: int) -> None:
        """Look at a replica, once its model is loaded, until it is lost; one that hangs is given up if others live."""
        replica = self.replicas[index]
        while replica.lost is None:
            await asyncio.sleep(LOOK_S)
            if replica.ready is not None:
                replica.look()
            if replica.hangs and len(self.replicas) > 1:
                replica.give_up(f"the engine has been silent for {replica.silent_ms} ms and was given up")


async def _try_to_start(replica: Replica) -> None:
    try:
        await replica.start()
    except (EngineError, OSError) as error:
        replica.give_up(str(error))

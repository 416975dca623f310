"""A replica that is replaced is watched from the moment at which it can serve."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import ClassVar

import pytest

from demo_engine.api import fleet as fleet_module
from demo_engine.api.fleet import Fleet
from demo_engine.api.replica import HANGING_LOOKS
from demo_engine.core.config import EngineConfig
from demo_engine.errors import EngineError

GIVEN_UP = "the engine has been silent for 5000 ms and was given up"


class Stub:
    """Stands for a replica, whose start comes to its end, hangs after the model is loaded, or fails, in this order."""

    made: ClassVar[list[Stub]] = []

    def __init__(self, folder, config, index):
        self.index, self.lost, self.ready, self.num_looks, self.silent_ms = index, None, None, 0, 5000
        self.number = len(self.made)
        self.made.append(self)

    @property
    def hangs(self):
        return self.num_looks >= HANGING_LOOKS

    def look(self):
        self.num_looks += 1

    def give_up(self, reason):
        self.lost = reason

    async def stop(self):
        self.lost = self.lost or "stopped"

    async def start(self):
        if self.number == 3:
            raise EngineError("no model")
        self.ready = "loaded"
        if self.number == 2:
            await asyncio.Event().wait()


@pytest.fixture
def stubs(monkeypatch):
    """Replicas without processes, in a fleet that has no time."""
    monkeypatch.setattr(fleet_module, "Replica", Stub)
    monkeypatch.setattr(fleet_module, "LOOK_S", 0)
    monkeypatch.setattr(fleet_module, "_FIRST_PAUSE_S", 0)
    monkeypatch.setattr(Stub, "made", [])
    return Stub.made


def test_one_that_hangs_while_it_starts_or_cannot_start_is_replaced_again(stubs):
    """The first is lost, its successor hangs at its start, the next fails, and the fourth is looked at like any."""

    async def main():
        fleet = Fleet(Path(), EngineConfig(replicas=2))
        await fleet.start()
        keeping = asyncio.create_task(fleet.keep())
        stubs[0].lost = "died"
        async with asyncio.timeout(20):
            while len(stubs) < 5 or stubs[4].ready is None:
                stubs[1].num_looks = 0
                await asyncio.sleep(0)
        keeping.cancel()
        assert [stub.lost for stub in stubs] == ["died", None, GIVEN_UP, "no model", None]
        assert fleet.replicas[0] is stubs[4]

    asyncio.run(main())

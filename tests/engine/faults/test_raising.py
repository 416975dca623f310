"""An exception at any point of the engine's step: every stream ends with one error, and the server says what is up."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

import raising_engine
from demo_engine.faults import subject as subject_module
from demo_engine.faults.asking import ask, completion
from demo_engine.faults.findings import Findings
from demo_engine.faults.subject import subject, until

pytestmark = [pytest.mark.slow, pytest.mark.engine]
NEIGHBOURS = 3


async def poisoned(model: str, replicas: int) -> tuple[list[str], str, Findings, int]:
    """Send a request that makes its engine raise; return its neighbours' ends, its own, health and exit code."""
    findings = Findings()
    async with subject(model, f"--replicas={replicas}") as server:
        neighbours = [asyncio.create_task(ask(server, completion(server, 400))) for _ in range(NEIGHBOURS)]
        await asyncio.sleep(0.1)
        own = await ask(server, completion(server, 10, [*raising_engine.POISON_IDS, 300]))
        endings = [reply.ending for reply in await asyncio.gather(*neighbours)]
        await until(server.is_not_ready)
        server.check_health(findings)
        return endings, own.ending, findings, await server.stop()


@pytest.fixture
def raising_at(monkeypatch):
    """Let every engine raise in a method of its runner."""

    def choose(name: str) -> None:
        helpers = str(Path(raising_engine.__file__).parent)
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join([helpers, os.environ.get("PYTHONPATH", "")]))
        monkeypatch.setenv("RAISE_AT", name)
        monkeypatch.setattr(subject_module, "SERVER_MODULE", "raising_server")

    return choose


@pytest.mark.parametrize("name", ["prepare", "forward", "sample", "cost"])
def test_whatever_raises_in_a_step_ends_every_stream_with_one_error(name, folder, raising_at):
    """The server lives on, answers probes, is not ready, and its exit code tells of the loss."""
    raising_at(name)
    endings, own, findings, exit_code = asyncio.run(poisoned(str(folder), 1))
    assert own == "error"
    assert endings == ["error"] * NEIGHBOURS
    assert findings.broken == []
    assert exit_code == 1


def test_a_request_that_kills_its_engine_does_not_kill_a_third(folder, raising_at):
    """With three engines it is moved once, takes the second one down too, and then ends with one error."""
    raising_at("prepare")

    async def check():
        async with subject(str(folder), "--replicas=3") as server:
            own = await ask(server, completion(server, 10, [*raising_engine.POISON_IDS, 300]))
            assert own.ending == "error"
            assert await server.is_ready()
            other = await ask(server, completion(server, 10))
            assert other.ending == "finished"

    asyncio.run(check())

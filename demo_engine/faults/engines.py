"""Engine processes that die or stand still, alone and beside another."""

from __future__ import annotations

import asyncio
import math
import os
import random
import signal
import time
from collections import Counter
from functools import partial

from demo_engine.faults.asking import Reply, ask, completion
from demo_engine.faults.findings import Findings, counted
from demo_engine.faults.subject import Subject, subject, until

NUM_ENGINES, NUM_STREAMS = 2, 6
STREAM_TOKENS = 100
MOST_WAIT_S = 0.2
NOTICED_MS = 1500
STANDSTILL_S = 3.0


async def killed(model: str, size: int) -> Findings:
    """Kill one of two engines in the midst of streams, again and again."""
    return await _harm_one_of_two(model, size, signal.SIGKILL)


async def hanging(model: str, size: int) -> Findings:
    """Stop one of two engines for good, again and again; it is given up as if it had died."""
    return await _harm_one_of_two(model, size, signal.SIGSTOP)


async def lost(model: str, size: int) -> Findings:
    """Kill the only engine of a server: it says so at once, and with its exit code."""
    findings = Findings()
    endings: Counter[str] = Counter()
    exit_codes: Counter[int] = Counter()
    choose = random.Random(size)  # noqa: S311 (no secret)
    for _ in range(size):
        async with subject(model) as server:
            streams = await _streams(server)
            await asyncio.sleep(choose.uniform(0, MOST_WAIT_S))
            os.kill(server.engine_pids()[0], signal.SIGKILL)
            noticed_ms = await until(server.is_not_ready)
            endings.update(await _endings(streams))
            refused = await ask(server, completion(server, 1))
            findings.require(refused.ending == "refused", f"a request without an engine: {refused.ending}")
            findings.within("until not ready", noticed_ms, NOTICED_MS)
            server.check_health(findings)
            exit_codes[await server.stop()] += 1
    findings.seen = f"streams: {counted(endings)}; exit codes {dict(exit_codes)}"
    findings.require(set(endings) <= {"finished", "error"}, "a stream ended without a terminal event, or with two")
    findings.require(set(exit_codes) == {1}, "the exit code hides the loss")
    return findings


async def standing_still(model: str, size: int) -> Findings:
    """Stop the only engine for some seconds and let it go on: not ready meanwhile, and nothing is lost."""
    findings = Findings()
    endings: Counter[str] = Counter()
    async with subject(model) as server:
        for _ in range(size):
            streams = await _streams(server)
            (engine,) = server.engine_pids()
            os.kill(engine, signal.SIGSTOP)
            start_s = time.perf_counter()
            try:
                noticed_ms = await until(server.is_not_ready)
                await asyncio.sleep(max(0.0, STANDSTILL_S - (time.perf_counter() - start_s)))
            finally:
                os.kill(engine, signal.SIGCONT)
            endings.update(await _endings(streams))
            await until(server.is_ready)
            findings.within("until not ready", noticed_ms, NOTICED_MS)
        findings.seen = f"streams: {counted(endings)}"
        findings.require(set(endings) == {"finished"}, "a stream was lost")
        await server.check_whole(findings)
    return findings


async def _harm_one_of_two(model: str, size: int, number: int) -> Findings:
    findings = Findings()
    endings: Counter[str] = Counter()
    choose = random.Random(size)  # noqa: S311 (no secret)
    async with subject(model, f"--replicas={NUM_ENGINES}") as server:
        for _ in range(size):
            streams = await _streams(server)
            await asyncio.sleep(choose.uniform(0, MOST_WAIT_S))
            victim = choose.choice(server.engine_pids())
            os.kill(victim, number)
            endings.update(await _endings(streams))
            findings.require(await server.is_ready(), "not ready although another engine lives")
            findings.require(await until(partial(_is_replaced, server, victim)) < math.inf, "it was not replaced")
        findings.seen = f"streams: {counted(endings)}; {size} engines replaced"
        findings.require(set(endings) <= {"finished", "error"}, "a stream ended without a terminal event, or with two")
        findings.require(endings["finished"] > 0, "the other engine's streams were lost too")
        await server.check_whole(findings)
    return findings


async def _streams(server: Subject) -> list[asyncio.Task[Reply]]:
    """Start streams and wait until the server has them."""
    streams = [asyncio.create_task(ask(server, completion(server, STREAM_TOKENS))) for _ in range(NUM_STREAMS)]
    await until(partial(_runs, server))
    return streams


async def _runs(server: Subject) -> bool:
    return await server.metric("spanreel_running") > 0


async def _is_replaced(server: Subject, victim: int) -> bool:
    return victim not in server.engine_pids() and await server.metric("spanreel_ready") == NUM_ENGINES


async def _endings(streams: list[asyncio.Task[Reply]]) -> list[str]:
    return [reply.ending for reply in await asyncio.gather(*streams)]

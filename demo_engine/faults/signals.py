"""A server that is asked to stop while it serves."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from pathlib import Path

import msgspec

from demo_engine.faults.asking import ENDLESS, ask, completion
from demo_engine.faults.findings import Findings
from demo_engine.faults.subject import Subject, subject, until

NUM_SHORT = 3
SHORT_TOKENS = 24
DRAIN_S = 5
MOST_WAIT_S = 0.5
EXIT_MS = 1000 * (DRAIN_S + 3)


async def draining(model: str, size: int) -> Findings:
    """Send SIGTERM amid streams, one of them endless: what can end does, nobody new is let in, and the server goes."""
    findings = Findings()
    endings: Counter[str] = Counter()
    choose = random.Random(size)  # noqa: S311 (no secret)
    slowest_ms = 0.0
    for _ in range(size):
        async with subject(model, f"--drain-s={DRAIN_S}") as server:
            engines = server.engine_pids()
            bodies = [completion(server, ENDLESS)] + [completion(server, SHORT_TOKENS)] * NUM_SHORT
            admitted = [asyncio.Event() for _ in bodies]
            streams = [asyncio.create_task(ask(server, *pair)) for pair in zip(bodies, admitted, strict=True)]
            await asyncio.gather(*(event.wait() for event in admitted))
            await asyncio.sleep(choose.uniform(0, MOST_WAIT_S))
            start_s = time.perf_counter()
            server.process.terminate()
            await until(server.is_not_ready)
            await _check_refusal(server, findings)
            server.check_health(findings)
            endings.update(reply.ending for reply in await asyncio.gather(*streams))
            exit_code = await server.process.wait()
            slowest_ms = max(slowest_ms, (time.perf_counter() - start_s) * 1000)
            findings.require(exit_code == 0, f"exit code {exit_code}")
            findings.require(not any(Path(f"/proc/{pid}").exists() for pid in engines), "an engine was left behind")
    findings.seen = (
        f"{endings['finished']} ended, {endings['error']} cut off with an error; gone after {slowest_ms:.0f} ms at most"
    )
    findings.require(endings == {"finished": NUM_SHORT * size, "error": size}, f"streams: {dict(endings)}")
    findings.within("until it was gone", slowest_ms, EXIT_MS)
    return findings


async def _check_refusal(server: Subject, findings: Findings) -> None:
    reply = await ask(server, completion(server, 1))
    is_told = reply.ending == "refused" and msgspec.json.decode(reply.text)["error"]["code"] == "shutting_down"
    findings.require(is_told, f"a new request: {reply.ending}")

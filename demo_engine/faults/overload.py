"""More than fits: a burst of requests, a pool that is too small, prompts that take long."""

from __future__ import annotations

import asyncio
from collections import Counter

import msgspec

from demo_engine.faults.asking import Reply, ask, completion, unlike_prompt
from demo_engine.faults.findings import Findings, counted, percentile
from demo_engine.faults.subject import PATIENCE_S, Subject, subject
from demo_engine.recorder.server_trace import ServerTrace

SEATS, QUEUE = 4, 12
BURST_TOKENS = 32
ARRIVAL_S = 0.004
REFUSAL_P99_MS = 50
RECOVERY_MS = 2000
POOL_BLOCKS, BLOCK_TOKENS = 8, 16
PROMPT_TOKENS, OUTPUT_TOKENS = 20, 16
LONG_TOKENS = 1500
_LOOK_S = 0.02


async def burst(model: str, size: int) -> Findings:
    """Send requests far faster than they are served; each is answered, in full or with a time to come again."""
    findings = Findings()
    async with subject(model, f"--max-num-seqs={SEATS}", f"--max-num-queued={QUEUE}") as server:
        body = completion(server, BURST_TOKENS)
        replies = await asyncio.gather(*(_later(server, body, number * ARRIVAL_S) for number in range(size)))
        again = await ask(server, completion(server, 1))
        endings = Counter(reply.ending for reply in replies)
        refused_ms = [reply.wall_ms for reply in replies if reply.ending == "refused"]
        p99_ms = percentile(refused_ms, 0.99)
        findings.seen = f"{counted(endings)}; refusals p99 {p99_ms:.0f} ms; the next one took {again.wall_ms:.0f} ms"
        findings.require(set(endings) <= {"finished", "refused"}, "some got neither an answer nor a refusal")
        findings.require(endings["finished"] >= min(size, SEATS + QUEUE), "fewer were served than there are seats")
        findings.require(again.ending == "finished", f"afterwards: {again.ending}")
        findings.within("refusals p99", p99_ms, REFUSAL_P99_MS)
        findings.within("the next one", again.wall_ms, RECOVERY_MS)
        await server.check_whole(findings)
    return findings


async def pool(model: str, size: int) -> Findings:
    """Let requests outgrow the pool together: each says what it says alone, and one that never fits is refused."""
    findings = Findings()
    settings = [f"--num-kv-blocks={POOL_BLOCKS}", f"--block-size={BLOCK_TOKENS}", f"--max-num-queued={size}"]
    async with subject(model, *settings) as server:
        bodies = [completion(server, OUTPUT_TOKENS, unlike_prompt(number, PROMPT_TOKENS)) for number in range(size)]
        together = await asyncio.gather(*(_tokens(server, body) for body in bodies))
        num_preempted = await server.metric("spanreel_preemptions_total")
        alone = [await _tokens(server, body) for body in bodies]
        num_same = sum(len(ids) == OUTPUT_TOKENS and ids == others for ids, others in zip(together, alone, strict=True))
        too_long = await ask(server, completion(server, 1, unlike_prompt(0, POOL_BLOCKS * BLOCK_TOKENS)))
        findings.seen = f"{num_same} as alone, {num_preempted:.0f} preemptions; too long: {too_long.status}"
        findings.require(num_same == size, "some replies differ")
        findings.require(num_preempted > 0, "nobody was preempted")
        findings.require(too_long.status == 400, f"a prompt larger than the pool: {too_long.ending}")
        await server.check_whole(findings)
    return findings


async def long_prompts(model: str, size: int) -> Findings:
    """Compute long prompts one after the other: busy is not dead, so the server says that it is ready throughout."""
    findings = Findings()
    async with subject(model) as server:
        looks: list[bool] = []
        watching = asyncio.create_task(_watch_readiness(server, looks))
        for number in range(size):
            reply = await ask(server, completion(server, 1, unlike_prompt(number, LONG_TOKENS)))
            findings.require(reply.ending == "finished", reply.ending)
        watching.cancel()
        findings.seen = f"{looks.count(False)} of {len(looks)} looks found it not ready"
        findings.require(all(looks), "it was taken for dead")
        await server.check_whole(findings)
    return findings


async def _later(server: Subject, body: dict[str, object], after_s: float) -> Reply:
    await asyncio.sleep(after_s)
    async with asyncio.timeout(PATIENCE_S):
        return await ask(server, body)


async def _tokens(server: Subject, body: dict[str, object]) -> list[int]:
    """Return the token ids of a reply; none if it was not finished."""
    reply = await ask(server, body)
    if reply.ending != "finished":
        return []
    async with server.session.get(f"{server.url}/v1/traces/{reply.request_id}", headers=server.headers) as response:
        return msgspec.json.decode(await response.read(), type=ServerTrace).tokens.id


async def _watch_readiness(server: Subject, looks: list[bool]) -> None:
    while True:
        looks.append(await server.is_ready())
        await asyncio.sleep(_LOOK_S)

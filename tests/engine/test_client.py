"""The client's runs: open loop, latencies from the intended start, failures that stay where they are."""

from __future__ import annotations

import asyncio
import time

import msgspec
import pytest
from aiohttp import web

from demo_engine.client.endpoint import Endpoint
from demo_engine.client.records import After, Call, RunPlan
from demo_engine.client.run import run
from demo_engine.recorder.server_trace import ServerSteps, ServerTokens, ServerTrace

MS = 1_000_000


class ScriptedServer:
    """Streams two tokens a request; what else it does is up to the test."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        self.bodies: list[dict] = []
        self.stall = asyncio.Event()
        self.stall.set()
        self.refused: set[str] = set()
        self.broken: set[str] = set()
        self.pause_s = 0.01

    async def complete(self, request: web.Request) -> web.StreamResponse:
        """Answer one request."""
        body = await request.json()
        self.paths.append(request.path)
        self.bodies.append(body)
        await self.stall.wait()
        text = body.get("prompt") or body["messages"][0]["content"]
        if text in self.refused:
            return web.json_response({"error": {"message": "full"}}, status=503, headers={"Retry-After": "1"})
        reply = web.StreamResponse(headers={"X-Request-Id": f"id-{text}", "Content-Type": "text/event-stream"})
        await reply.prepare(request)
        for _ in range(body["max_tokens"]):
            await reply.write(b'data: {"choices":[]}\n\n')
            await asyncio.sleep(self.pause_s)
            if text in self.broken:
                return reply
        await reply.write(b"data: [DONE]\n\n")
        return reply

    async def trace(self, request: web.Request) -> web.Response:
        """Return an empty record of the request."""
        steps = ServerSteps(0, {}, [], [], 1)
        name = request.match_info["name"]
        made = ServerTrace(name, "perf_counter_ns", 1, 1, "length", [], ServerTokens(), steps)
        return web.Response(body=msgspec.json.encode(made))


def with_server(test):
    """Run a test's coroutine with a scripted server and its endpoint."""

    async def body():
        script = ScriptedServer()
        app = web.Application()
        app.router.add_post("/v1/chat/completions", script.complete)
        app.router.add_post("/v1/completions", script.complete)
        app.router.add_get("/v1/traces/{name}", script.trace)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = site._server.sockets[0].getsockname()[1]
        try:
            return await test(script, Endpoint(f"http://127.0.0.1:{port}", "token", "model"))
        finally:
            await runner.cleanup()

    return asyncio.run(body())


def test_a_stalled_server_delays_nobodys_start_and_everybodys_latency():
    """Requests go out at their intended starts while the server stalls; the wait counts in full (open loop)."""

    async def test(script, endpoint):
        script.stall.clear()
        plan = RunPlan([Call(f"r{n}", f"p{n}", 2, at_ms=20.0 * n) for n in range(5)])
        running = asyncio.create_task(run(endpoint, plan))
        while len(script.paths) < 5:
            await asyncio.sleep(0.005)
        released_ns = time.perf_counter_ns()
        script.stall.set()
        return await running, released_ns

    result, released_ns = with_server(test)
    starts = [done.client.intended_start_ns for done in result.calls]
    assert [start - starts[0] for start in starts] == [20 * n * MS for n in range(5)]
    for done in result.calls:
        assert done.client.event_ns[0] > released_ns
        assert done.client.event_ns[0] - done.client.intended_start_ns >= released_ns - done.client.intended_start_ns


def test_a_late_client_cannot_hide_the_delay():
    """The clock of a request runs from its intended start even if it was sent later."""

    async def test(script, endpoint):
        plan = RunPlan([Call("r1", "p", 2)])
        running = asyncio.create_task(run(endpoint, plan))
        await asyncio.sleep(0)
        time.sleep(0.2)
        return await running

    (done,) = with_server(test).calls
    assert done.client.connect_start_ns - done.client.intended_start_ns >= 100 * MS


def test_a_refused_request_says_why_and_leaves_the_others_alone():
    """Its result is the refusal; the other one is whole."""

    async def test(script, endpoint):
        script.refused.add("p1")
        return await run(endpoint, RunPlan([Call("r0", "p0", 2), Call("r1", "p1", 2)]))

    fine, refused = with_server(test).calls
    assert fine.failure is None
    assert fine.server.request_id == "id-p0"
    assert "503" in refused.failure
    assert refused.server is None
    assert refused.client.end_ns > refused.client.intended_start_ns


def test_a_reply_without_its_end_is_a_failure():
    """A stream that stops before [DONE] is not taken for a short answer."""

    async def test(script, endpoint):
        script.broken.add("p0")
        return await run(endpoint, RunPlan([Call("r0", "p0", 2)]))

    (done,) = with_server(test).calls
    assert "without [DONE]" in done.failure


@pytest.mark.parametrize("chat", [True, False])
def test_a_start_that_depends_on_another_request_lies_inside_its_step(chat):
    """It comes after the given token, and a share of the last interval later."""

    async def test(script, endpoint):
        script.pause_s = 0.03
        first = Call("r1", "p1", 8, "neighbour", chat=chat)
        return await run(endpoint, RunPlan([first, Call("r7", "p7", 2, after=After("r1", 3, 0.5), chat=chat)]))

    neighbour, subject = (done.client for done in with_server(test).calls)
    events = neighbour.event_ns[: 3 + chat]
    assert subject.intended_start_ns == events[-1] + int((events[-1] - events[-2]) * 0.5)


def test_waiting_for_a_request_that_is_over_fails_instead_of_waiting_for_ever():
    """A neighbour with too few tokens is said."""

    async def test(script, endpoint):
        return await run(endpoint, RunPlan([Call("r1", "p1", 2), Call("r7", "p7", 2, after=After("r1", 9))]))

    _, late = with_server(test).calls
    assert late.failure == "r1 was over before this request began"


def test_a_text_without_the_chat_template_goes_to_the_plain_route():
    """The body holds the prompt as it stands; a chat's is one user message."""

    async def test(script, endpoint):
        await run(endpoint, RunPlan([Call("r0", "p0", 1, chat=False), Call("r1", "p1", 1, at_ms=50)]))
        return script

    script = with_server(test)
    assert script.paths == ["/v1/completions", "/v1/chat/completions"]
    assert script.bodies[0]["prompt"] == "p0"
    assert script.bodies[1]["messages"] == [{"role": "user", "content": "p1"}]
    assert all(body["ignore_eos"] and body["temperature"] == 0 and body["stream"] for body in script.bodies)


def test_stop_strings_and_schemas_are_sent():
    """A call without them sends an empty list and no format at all."""

    async def test(script, endpoint):
        calls = [Call("r0", "p0", 1), Call("r1", "p1", 1, at_ms=20, stop=["a", "b"], json_schema='{"type":"null"}')]
        await run(endpoint, RunPlan(calls))
        return script.bodies

    plain, bound = with_server(test)
    assert plain["stop"] == []
    assert "response_format" not in plain
    assert bound["stop"] == ["a", "b"]
    assert bound["response_format"]["json_schema"]["schema"] == {"type": "null"}

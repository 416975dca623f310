"""What may stand before a server, over real sockets: the link's arithmetic, its TLS, and a proxy that holds replies."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import time
from urllib.parse import urlsplit

import aiohttp
import msgspec
import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from demo_engine.client import connections
from demo_engine.client.endpoint import Endpoint
from demo_engine.client.records import Call, ConnectionUse, RunPlan
from demo_engine.client.run import run
from demo_engine.network import proxy
from demo_engine.network.config import EdgeConfig
from demo_engine.network.edge import open_edge
from demo_engine.network.link import MAX_CONNECTIONS
from demo_engine.network.tls import TlsEnd, server_context
from demo_engine.network.wire import Pace
from demo_engine.recorder.server_trace import BODY_NS, ServerSpan, ServerSteps, ServerTokens, ServerTrace
from demo_engine.recorder.stages import stage_ends

MS = 1_000_000
NUM_TOKENS = 5


class ScriptedServer:
    """Streams tokens with pauses, and keeps what it was asked and when a client left."""

    def __init__(self) -> None:
        self.hosts: list[str] = []
        self.sockets: set[tuple] = set()
        self.spans: dict[str, list[ServerSpan]] = {}
        self.has_lost_client = asyncio.Event()
        self.breaks_off = False
        self.pause_s = 0.02

    async def complete(self, request: web.Request) -> web.StreamResponse:
        """Answer one request, token by token."""
        start_ns = time.perf_counter_ns()
        body = await request.json()
        arrived_ns = time.perf_counter_ns()
        request_id = f"id-{body['prompt'][-2:]}"
        self.hosts.append(request.headers["Host"])
        self.sockets.add(request.transport.get_extra_info("peername"))
        reply = web.StreamResponse(headers={"X-Request-Id": request_id, "Content-Type": "text/event-stream"})
        await reply.prepare(request)
        try:
            for _ in range(body["max_tokens"]):
                await reply.write(b'data: {"choices":[]}\n\n')
                await asyncio.sleep(self.pause_s)
                if self.breaks_off:
                    request.transport.abort()
                    return reply
        except asyncio.CancelledError:
            self.has_lost_client.set()
            raise
        duration_ns, found = time.perf_counter_ns() - start_ns, {BODY_NS: arrived_ns - start_ns}
        self.spans[request_id] = [ServerSpan("receive", "gateway", start_ns, duration_ns, found)]
        await reply.write(b"data: [DONE]\n\n")
        return reply

    async def models(self, _request: web.Request) -> web.Response:
        """Answer what opens a connection."""
        return web.json_response({"data": []})

    async def trace(self, request: web.Request) -> web.Response:
        """Return the record of a request."""
        name = request.match_info["name"]
        tokens = ServerTokens(event=list(range(NUM_TOKENS)))
        steps = ServerSteps(0, {}, [], [], 1)
        made = ServerTrace(name, "perf_counter_ns", 1, 1, "length", self.spans[name], tokens, steps)
        return web.Response(body=msgspec.json.encode(made))


@contextlib.asynccontextmanager
async def serving():
    """Yield a scripted server and its address."""
    script = ScriptedServer()
    app = web.Application()
    app.router.add_post("/v1/completions", script.complete)
    app.router.add_get("/v1/models", script.models)
    app.router.add_get("/v1/traces/{name}", script.trace)
    runner = web.AppRunner(app, handler_cancellation=True)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield script, f"http://127.0.0.1:{site._server.sockets[0].getsockname()[1]}"
    finally:
        await runner.cleanup()


def run_through(config: EdgeConfig, use: ConnectionUse | None = None, num_calls: int = 1, prompt: str = "p"):
    """Carry out requests one after the other through an edge; return the script, its address and the results."""

    async def body():
        async with serving() as (script, url), open_edge(url, config) as address:
            calls = [Call(f"r{n}", f"{prompt}{n}", NUM_TOKENS, at_ms=400.0 * n, chat=False) for n in range(num_calls)]
            plan = RunPlan(calls, use or ConnectionUse())
            return script, url, await run(Endpoint(url, "token", "model", address), plan)

    return asyncio.run(body())


def names_and_ns(result, index: int = 0) -> dict[str, int]:
    """Return how long each stage of a request's path took, by name."""
    done = result.calls[index]
    ends = stage_ends(done.client, done.server, result.edge)
    starts = [done.client.intended_start_ns, *(end.at_ns for end in ends)]
    return {end.name: end.at_ns - start for start, end in zip(starts, ends, strict=False)}


@given(
    delay_s=st.floats(0, 1), bits_per_s=st.floats(1e3, 1e9), sizes=st.lists(st.integers(1, 1460), min_size=1),
    gaps_s=st.lists(st.floats(0, 0.1), min_size=1),
)  # fmt: skip
def test_bytes_arrive_in_order_after_the_delay_and_no_faster_than_the_bandwidth(delay_s, bits_per_s, sizes, gaps_s):
    """Whatever is sent and when: none early, none before the one ahead, and together no more than the link holds."""
    pace = Pace(delay_s, bits_per_s)
    now_s, arrivals = 0.0, []
    for index, size in enumerate(sizes):
        now_s += gaps_s[index % len(gaps_s)]
        arrivals.append(pace.arrival_s(size, now_s))
        assert arrivals[-1] >= now_s + delay_s + size * 8 / bits_per_s - 1e-9
    assert arrivals == sorted(arrivals)
    first_sent_s = gaps_s[0]
    assert arrivals[-1] - delay_s - first_sent_s >= sum(sizes) * 8 / bits_per_s - 1e-6


def test_a_link_delays_the_request_and_the_reply_but_not_tcps_own_handshake():
    """Each way takes the delay; the connection stands before that, and the path says what was emulated."""
    _, _, result = run_through(EdgeConfig(link_delay_ms=200))
    stages = names_and_ns(result)
    assert list(stages) == ["prepare", "connect", "uplink", "receive", "downlink"]
    assert stages["uplink"] >= 200 * MS
    assert stages["downlink"] >= 200 * MS
    assert stages["connect"] < stages["uplink"]


@pytest.mark.parametrize("mode", ["none", "pass"])
def test_a_long_prompt_takes_its_time_on_a_narrow_link(mode):
    """It is under way until the link has carried the last of its bytes, whoever reads them."""
    _, _, result = run_through(EdgeConfig(link_kbit_per_s=1000, proxy=mode), prompt="x" * 25_000)
    assert names_and_ns(result)["uplink"] >= 190 * MS  # 200 for the prompt alone; the client looked after it began


def test_tls_costs_a_round_trip_on_a_new_connection():
    """A message each way must have crossed the link before the request may follow."""
    _, _, result = run_through(EdgeConfig(link_delay_ms=40, link_tls=True))
    stages = names_and_ns(result)
    assert list(stages) == ["prepare", "connect", "tls", "uplink", "receive", "downlink"]
    assert stages["tls"] >= 80 * MS


def test_tls_costs_no_more_than_one_round_trip(tmp_path):
    """The client's second message completes the handshake and carries the request."""
    server, certificate = server_context(tmp_path)
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = ssl.create_default_context(cafile=certificate)
    client = context.wrap_bio(incoming, outgoing, server_hostname="127.0.0.1")
    end = TlsEnd(server)
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    first = end.receive(outgoing.read())
    assert first.plain == b""
    incoming.write(first.answer)
    client.do_handshake()
    client.write(b"request")
    assert end.receive(outgoing.read()) == (b"request", b"")
    incoming.write(end.wrap(b"reply"))
    assert client.read() == b"reply"
    assert client.version() == "TLSv1.3"


def test_a_reused_connection_needs_neither_tcp_nor_tls():
    """Both requests travel on the connection that was opened before the run."""
    script, _, result = run_through(EdgeConfig(link_delay_ms=20, link_tls=True), ConnectionUse("reused"), num_calls=2)
    assert len(script.sockets) == 1
    for index in range(2):
        assert list(names_and_ns(result, index)) == ["prepare", "uplink", "receive", "downlink"]


@pytest.mark.parametrize("kind", ["shared", "fresh"])
def test_a_fresh_tls_context_is_made_after_the_intended_start(kind, monkeypatch):
    """It is part of the request's own preparation, where the shared one is there already."""
    made_ns = []

    class NotedContext(connections._StampedContext):
        def __init__(self, _protocol):
            made_ns.append(time.perf_counter_ns())

    monkeypatch.setattr(connections, "_StampedContext", NotedContext)
    _, _, result = run_through(EdgeConfig(link_tls=True), ConnectionUse(tls_context=kind))
    record = result.calls[0].client
    is_inside = [record.intended_start_ns <= at < record.connect_start_ns for at in made_ns]
    assert any(is_inside) == (kind == "fresh")


def test_the_server_is_named_whatever_stands_before_it():
    """It sees its own host name, so its guard holds through link and proxy."""
    script, url, _ = run_through(EdgeConfig(link_delay_ms=1, link_tls=True, proxy="pass"))
    assert script.hosts == [url.removeprefix("http://")]


def test_a_proxy_that_buffers_turns_a_comb_of_tokens_into_one_lump():
    """It has read the tokens one by one, and the client gets them all when the last is there."""
    comb, lump = (run_through(EdgeConfig(proxy=mode))[2].calls[0] for mode in ("pass", "buffer"))
    for done in (comb, lump):
        assert len(done.server.proxy.event_ns) == len(done.client.event_ns) == NUM_TOKENS
    assert comb.client.event_ns[0] < comb.server.proxy.event_ns[-1]
    assert lump.client.event_ns[0] > lump.server.proxy.event_ns[-1]
    assert lump.server.proxy.num_writes == 1 < comb.server.proxy.num_writes


def test_the_path_through_a_proxy_touches_and_says_how_long_the_reply_was_held():
    """Two stages are the proxy's; what it held it held while the tokens were made, beside the path."""
    _, _, result = run_through(EdgeConfig(proxy="buffer"))
    assert list(names_and_ns(result)) == ["prepare", "connect", "request", "forward", "receive", "relay", "response"]
    assert all(duration_ns >= 0 for duration_ns in names_and_ns(result).values())
    done = result.calls[0]
    relay = next(end for end in stage_ends(done.client, done.server, result.edge) if end.name == "relay")
    assert relay.attributes["buffering"] is True
    read_ns = done.server.proxy.event_ns
    assert relay.attributes["held_ns"] >= read_ns[-1] - read_ns[0] > 0


@pytest.mark.parametrize("config", [EdgeConfig(link_delay_ms=5, link_tls=True), EdgeConfig(proxy="buffer")])
def test_a_client_that_leaves_is_noticed_by_the_server(config):
    """Hanging up in the middle of a reply reaches the server through whatever stands before it."""

    async def body():
        async with serving() as (script, url), open_edge(url, config) as address:
            script.pause_s = 0.1
            endpoint = Endpoint(url, "token", "model", address)
            task = asyncio.create_task(run(endpoint, RunPlan([Call("r1", "p", 100, chat=False)])))
            while not script.hosts:
                await asyncio.sleep(0.01)
            task.cancel()
            await asyncio.wait_for(script.has_lost_client.wait(), 10)

    asyncio.run(body())


def test_a_reply_that_is_too_long_to_hold_is_passed_on_in_lumps(monkeypatch):
    """A bound on what is held keeps the proxy small; the client gets every byte all the same."""
    monkeypatch.setattr(proxy, "MAX_HELD_BYTES", 50)
    done = run_through(EdgeConfig(proxy="buffer"))[2].calls[0]
    assert len(done.client.event_ns) == NUM_TOKENS
    assert 1 < done.server.proxy.num_writes < NUM_TOKENS


@pytest.mark.parametrize("mode", ["pass", "buffer"])
def test_a_reply_that_breaks_off_behind_the_proxy_ends_with_one_error(mode):
    """As an error event in a stream that has begun, as a 502 where nothing was sent; never as a short answer."""

    async def body():
        async with serving() as (script, url), open_edge(url, EdgeConfig(proxy=mode)) as address:
            script.breaks_off = True
            ask = {"prompt": "p", "max_tokens": 3}
            url = f"{address.url}/v1/completions"
            async with aiohttp.ClientSession() as session, session.post(url, json=ask) as reply:
                return reply.status, await reply.text()

    status, text = asyncio.run(body())
    assert text.count('"upstream_lost"') == 1
    assert (status, text.count("[DONE]")) == ((200, 1) if mode == "pass" else (502, 0))


def test_a_client_that_does_not_trust_the_certificate_is_not_served():
    """Nothing reaches the server."""

    async def body():
        async with serving() as (script, url), open_edge(url, EdgeConfig(link_tls=True)) as address:
            async with aiohttp.ClientSession() as session:
                with pytest.raises(aiohttp.ClientConnectorCertificateError):
                    await session.get(f"{address.url}/v1/models")
            return script.sockets

    assert asyncio.run(body()) == set()


@pytest.mark.parametrize("config", [EdgeConfig(link_tls=True), EdgeConfig(proxy="pass")])
def test_what_stands_before_a_server_can_stop_while_connections_are_open(config, caplog):
    """They are dropped, and nobody complains."""

    async def body():
        async with serving() as (_, url):
            async with open_edge(url, config) as address:
                place = urlsplit(address.url)
                reader, writer = await asyncio.open_connection(place.hostname, place.port)
                await asyncio.sleep(0.05)
            assert await reader.read() == b""
            writer.close()
            await writer.wait_closed()

    asyncio.run(body())
    assert caplog.records == []


def test_a_link_holds_no_more_connections_than_its_bound():
    """The next one is closed, and those that are there go on."""

    async def body():
        async with serving() as (_, url), open_edge(url, EdgeConfig(link_delay_ms=1)) as address:
            place = urlsplit(address.url)
            opened = [await asyncio.open_connection(place.hostname, place.port) for _ in range(MAX_CONNECTIONS + 1)]
            with contextlib.suppress(ConnectionError):
                assert await opened[-1][0].read() == b""
            first_reader, first_writer = opened[0]
            first_writer.write(b"GET /v1/models HTTP/1.1\r\nHost: x\r\n\r\n")
            assert (await first_reader.readline()).startswith(b"HTTP/1.1 200")
            for _, writer in opened:
                writer.close()

    asyncio.run(body())

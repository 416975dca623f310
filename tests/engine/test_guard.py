"""Who may come in, tried on every route over real sockets, with no engine behind them."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import socket

import pytest

from demo_engine.api.front_door import is_plain_probe
from demo_engine.api.gateway.keys import KeyRing
from demo_engine.api.guard import OPEN_PATHS, Guard
from idle_server import METHODS, TOKEN, ask, connected, make_idle_app, on_server

PATHS = (
    "/healthz", "/readyz", "/metrics", "/v1/models", "/v1/models/m", "/v1/traces/x", "/v1/chat/completions",
    "/v1/completions", "/tokenize", "/", "/docs", "/healthz/", "//healthz", "/healthz/../v1/models",
)  # fmt: skip


def test_without_the_token_only_the_open_paths_answer():
    """Every method on every route is refused without a token or with a wrong one; health alone is open."""

    async def check(port):
        host = f"Host: 127.0.0.1:{port}"
        for credentials in ([], ["Authorization: Bearer wrong"], [f"Authorization: Basic {TOKEN}"]):
            for method in METHODS:
                for path in PATHS:
                    status = await ask(port, method, path, [host, *credentials])
                    if path in OPEN_PATHS and method in ("GET", "HEAD"):
                        assert status == 200, (method, path)
                    else:
                        assert 400 <= status < 500, (method, path, status)

    on_server(check)


def test_every_registered_route_is_behind_the_guard():
    """A route that is added later without thought is refused too: the open paths are listed, not the closed ones."""
    app = make_idle_app(Guard(KeyRing(TOKEN)))
    paths = {resource.canonical for resource in app.router.resources()}
    assert paths >= OPEN_PATHS

    async def check(port):
        for path in sorted(paths - OPEN_PATHS):
            real = path.format(model="m", request_id="x")
            for method in ("GET", "POST"):
                assert await ask(port, method, real, [f"Host: 127.0.0.1:{port}"]) == 401, path

    on_server(check)


@pytest.mark.parametrize(
    "host",
    [
        "evil.com", "localhost.evil.com:{port}", "127.0.0.1", "127.0.0.1:1", "127.0.0.1.nip.io:{port}",
        "localhost@evil.com", "evil.com:{port}", "x/docs?:{port}", "", "127.0.0.1:{port}.", "[::1]", "0.0.0.0:{port}",
    ],
)  # fmt: skip
def test_a_foreign_host_name_is_refused_even_with_the_token(host):
    """A page that points its own name at this machine does not get in."""

    async def check(port):
        headers = [f"Host: {host.format(port=port)}", f"Authorization: Bearer {TOKEN}"]
        assert await ask(port, "GET", "/v1/models", headers) in (400, 403)
        assert await ask(port, "GET", "/healthz", headers[:1]) in (400, 403)

    on_server(check)


def test_two_host_headers_or_none_are_refused():
    """What a proxy might read differently from us is not read at all."""

    async def check(port):
        token, host = f"Authorization: Bearer {TOKEN}", f"Host: 127.0.0.1:{port}"
        assert await ask(port, "GET", "/v1/models", [token]) in (400, 403)
        assert await ask(port, "GET", "/v1/models", [token, host, "Host: evil.com"]) in (400, 403)
        assert await ask(port, "GET", "/v1/models", [token, "Host: evil.com", f"X-Forwarded-{host}"]) == 403

    on_server(check)


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "[::1]"])
def test_the_loopback_names_with_the_port_are_served(name):
    """The printed address and its two other names work, with and without their own origin."""

    async def check(port):
        headers = [f"Host: {name}:{port}", f"Authorization: Bearer {TOKEN}"]
        assert await ask(port, "GET", "/v1/models", headers) == 200
        assert await ask(port, "GET", "/v1/models", [*headers, f"Origin: http://{name}:{port}"]) == 200

    on_server(check)


@pytest.mark.parametrize(
    "header",
    [
        "Origin: http://evil.com", "Origin: null", "Origin: 127.0.0.1:{port}", "Origin: http://127.0.0.1:{port}.evil.com",
        "Origin: https://127.0.0.1:{port}", "Origin: http://127.0.0.1:1", "Sec-Fetch-Site: cross-site",
        "Sec-Fetch-Site: same-site",
    ],
)  # fmt: skip
def test_a_foreign_page_is_refused_even_with_the_token(header):
    """Requests that a browser marks as another site's are 403."""

    async def check(port):
        headers = [f"Host: 127.0.0.1:{port}", f"Authorization: Bearer {TOKEN}", header.format(port=port)]
        for method, path in (("GET", "/v1/models"), ("POST", "/v1/chat/completions"), ("OPTIONS", "/v1/models")):
            assert await ask(port, method, path, headers) == 403

    on_server(check)


def test_a_server_without_an_engine_says_503():
    """A completion that no replica can take is refused with a time to come back."""

    async def check(port):
        headers = [f"Host: 127.0.0.1:{port}", f"Authorization: Bearer {TOKEN}", "Content-Type: application/json"]
        assert await ask(port, "POST", "/v1/chat/completions", headers) in (429, 503)

    on_server(check)


def test_headers_that_trickle_are_cut_off(monkeypatch):
    """A client that never ends its headers loses its connection at the deadline."""
    monkeypatch.setattr("demo_engine.api.connection.HEADERS_DEADLINE_S", 0.2)

    async def check(port):
        async with connected(port) as (reader, writer):
            writer.write(b"GET /healthz HTTP/1.1\r\nHost: x")
            data = b""
            with contextlib.suppress(ConnectionError):
                data = await asyncio.wait_for(reader.read(), 20)
            assert data == b""

    on_server(check)


def test_connections_beyond_the_limit_are_refused_and_probes_still_answer(monkeypatch):
    """Requests in the making are bounded; one more is told so, and a health probe does not notice."""
    monkeypatch.setattr("demo_engine.api.connection.MAX_CONNECTIONS", 3)

    async def check(port):
        async with contextlib.AsyncExitStack() as held:
            for _ in range(3):
                _, writer = await held.enter_async_context(connected(port))
                writer.write(b"GET /v1/models HTTP/1.1\r\n")
            await asyncio.sleep(0.2)
            host = f"Host: 127.0.0.1:{port}"
            assert await ask(port, "GET", "/v1/models", [host, f"Authorization: Bearer {TOKEN}"]) == 503
            assert await ask(port, "GET", "/healthz", [host]) == 200

    on_server(check)


def test_silent_connections_are_dropped_the_oldest_first(monkeypatch):
    """Sockets that say nothing are bounded as well, and a newcomer that speaks is served."""
    monkeypatch.setattr("demo_engine.api.front_door.MAX_CONNECTIONS", 2)

    async def check(port):
        async with contextlib.AsyncExitStack() as held:
            readers = [(await held.enter_async_context(connected(port)))[0] for _ in range(4)]
            assert await asyncio.wait_for(readers[0].read(), 20) == b""
            headers = [f"Host: 127.0.0.1:{port}", f"Authorization: Bearer {TOKEN}"]
            assert await ask(port, "GET", "/v1/models", headers) == 200

    on_server(check)


def test_health_answers_while_the_event_loop_is_blocked():
    """A probe waits for no work: the front door answers it although the event loop does nothing at all."""

    async def check(port):
        probe = f"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode()
        with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:  # blocks this very loop
            connection.sendall(probe)
            assert connection.recv(4096).startswith(b"HTTP/1.1 200 ")

    on_server(check)


@pytest.mark.parametrize(
    "probe",
    [
        "GET /healthz HTTP/1.1|Host: evil.com", "GET /healthz HTTP/1.1|Host: HERE|Host: HERE",
        "GET /healthz HTTP/1.1|Host: HERE|Origin: http://evil.com", "GET /healthz HTTP/1.1|Host : HERE",
        "GET /healthz HTTP/1.1|Host: HERE|Sec-Fetch-Site: none", "GET /healthz HTTP/1.1|Host: HERE|Content-Length: 3",
        "GET /v1/models HTTP/1.1|Host: HERE", "GET /healthz/../x HTTP/1.1|Host: HERE", "GET /healthz HTTP/1.0",
        "POST /healthz HTTP/1.1|Host: HERE", "GET /healthz HTTP/1.1",
    ],
)  # fmt: skip
def test_the_front_door_answers_nothing_but_a_plain_probe(probe):
    """Whatever could be read in two ways is left to the guard."""
    here = frozenset({"127.0.0.1:80"})
    data = ("\r\n".join(probe.replace("HERE", "127.0.0.1:80").split("|")) + "\r\n\r\n").encode()
    plain = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:80\r\nUser-Agent: x\r\n\r\n"
    assert is_plain_probe(plain, here)
    assert not is_plain_probe(plain[:-1], here)
    assert not is_plain_probe(plain + b"GET / HTTP/1.1\r\n", here)
    assert not is_plain_probe(data, here)


def test_headers_are_bounded_in_number_and_size():
    """More than 100 headers, a long one, or more than 16 KB of them are refused, with the right token too."""

    async def check(port):
        good = [f"Host: 127.0.0.1:{port}", f"Authorization: Bearer {TOKEN}"]
        assert await ask(port, "GET", "/v1/models", [*good, *(f"X-{i}: 1" for i in range(90))]) == 200
        assert await ask(port, "GET", "/v1/models", [*good, *(f"X-{i}: 1" for i in range(100))]) == 431
        assert await ask(port, "GET", "/v1/models", [*good, *(f"X-{i}: 1" for i in range(1000))]) in (400, 431)
        assert await ask(port, "GET", "/v1/models", [*good, "X: " + "a" * 9000]) == 400
        assert await ask(port, "GET", "/v1/models", [*good, *(f"X-{i}: {'a' * 4000}" for i in range(5))]) == 431

    on_server(check)


def test_the_whole_matrix_lets_only_the_intended_requests_in():
    """Every route × method × host × origin × token: only own or no origin, our host and the token get through."""

    async def check(port):
        own = f"127.0.0.1:{port}"
        hosts = [own, "evil.com", f"{own}.evil.com"]
        origins = [None, f"http://{own}", "http://evil.com", "null", f"https://{own}"]
        tokens = [None, f"Bearer {TOKEN}", "Bearer wrong"]
        num_refused = 0
        for resource in make_idle_app(Guard(KeyRing(TOKEN))).router.resources():
            path = resource.canonical.format(model="m", request_id="x")
            for method, host, origin, token in itertools.product(METHODS, hosts, origins, tokens):
                headers = [f"Host: {host}"] + [f"Origin: {origin}"] * bool(origin)
                status = await ask(port, method, path, headers + [f"Authorization: {token}"] * bool(token))
                if host != own or origin not in origins[:2]:
                    assert status in (400, 403), (method, path, host, origin, token, status)
                elif token != tokens[1] and path not in OPEN_PATHS:
                    assert status in (400, 401), (method, path, host, origin, token, status)
                else:
                    continue
                num_refused += 1
        assert num_refused > 2500

    on_server(check)


def test_no_answer_allows_another_origin_to_read_it():
    """There is no CORS header on any reply, a preflight included."""

    async def check(port):
        for method, headers in (
            ("GET", []),
            ("OPTIONS", ["Origin: http://evil.com", "Access-Control-Request-Method: POST"]),
        ):
            lines = [f"{method} /v1/models HTTP/1.1", f"Host: 127.0.0.1:{port}", *headers, "Connection: close", "", ""]
            async with connected(port) as (reader, writer):
                writer.write("\r\n".join(lines).encode())
                assert b"access-control" not in (await reader.read()).lower()

    on_server(check)

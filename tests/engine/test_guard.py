"""Who may come in, tried on every route over real sockets, with no engine behind them."""

from __future__ import annotations

import asyncio

import pytest
from aiohttp import web

from demo_engine.api.app import make_app
from demo_engine.api.completions import Completions
from demo_engine.api.connection import Connection
from demo_engine.api.guard import OPEN_PATHS, Guard

TOKEN = "right-token"
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")
PATHS = (
    "/healthz", "/readyz", "/metrics", "/v1/models", "/v1/models/m", "/v1/traces/x", "/v1/chat/completions",
    "/v1/completions", "/", "/docs", "/healthz/", "//healthz", "/healthz/../v1/models",
)  # fmt: skip


def on_server(check):
    """Run ``check(port)`` against a server without replicas."""

    async def main():
        guard = Guard(TOKEN)
        completions = Completions("m", tokenizer=None, replicas=[], max_num_queued=4)
        runner = web.AppRunner(make_app(guard, completions, [], "m"), handler_cancellation=True)
        await runner.setup()
        loop = asyncio.get_running_loop()
        listener = await loop.create_server(lambda: Connection(runner.server, loop), "127.0.0.1", 0)
        port = listener.sockets[0].getsockname()[1]
        guard.allow(port)
        try:
            return await check(port)
        finally:
            listener.close()
            await runner.cleanup()

    return asyncio.run(main())


async def ask(port: int, method: str, path: str, headers: list[str]) -> int:
    """Send raw lines and return the status, or 0 if the server closed without an answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    lines = [f"{method} {path} HTTP/1.1", *headers, "Connection: close", "Content-Length: 0", "", ""]
    writer.write("\r\n".join(lines).encode("latin-1"))
    reply = await reader.read()
    writer.close()
    await writer.wait_closed()
    return int(reply.split(b" ", 2)[1]) if reply else 0


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
    app = make_app(Guard(TOKEN), Completions("m", None, [], 4), [], "m")
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
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: x")
        data = b"?"
        try:
            data = await asyncio.wait_for(reader.read(), 20)
        except ConnectionError:
            data = b""
        assert data == b""
        writer.close()

    on_server(check)


def test_connections_beyond_the_limit_are_closed(monkeypatch):
    """Open sockets are bounded, and those within the bound still answer."""
    monkeypatch.setattr("demo_engine.api.connection.MAX_CONNECTIONS", 3)

    async def check(port):
        held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(2)]
        assert await ask(port, "GET", "/healthz", [f"Host: 127.0.0.1:{port}"]) == 200
        held.append(await asyncio.open_connection("127.0.0.1", port))
        await asyncio.sleep(0)
        with pytest.raises((ConnectionError, AssertionError)):
            assert await ask(port, "GET", "/healthz", [f"Host: 127.0.0.1:{port}"]) == 200
        for _, writer in held:
            writer.close()

    on_server(check)

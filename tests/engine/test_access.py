"""Keys walked over every route, what headers may not do for them, and that a proxy opens nothing."""

from __future__ import annotations

import itertools

import pytest

from demo_engine.api.gateway.allowance import Limits
from demo_engine.api.gateway.keys import Caller, KeyEntry, KeyRing
from demo_engine.api.guard import KEY_ROUTES, OPEN_PATHS
from demo_engine.network.config import EdgeConfig
from idle_server import METHODS, TOKEN, ask, edge_port, on_server, registered_paths

KEY = "a-key-of-somebody"
KEY_PATHS = {path.format(model="m") for path in KEY_ROUTES}
LIMIT = 2
DISGUISES = (
    "X-Forwarded-For: 10.0.0.{}", "X-Real-IP: 10.0.0.{}", "Forwarded: for=10.0.0.{}", "X-Forwarded-User: u{}",
    "X-Api-Key: key-{}", "Api-Key: key-{}", "X-Request-Id: r{}", "Cookie: session={}", "User-Agent: agent-{}",
    "OpenAI-Organization: o{}", "X-RateLimit-Reset: {}", "Authorization: Bearer other-{}",
)  # fmt: skip
"""Headers by which other gateways tell clients apart."""


class ForgetfulKeyRing(KeyRing):
    """Gives every request an allowance of its own."""

    def caller(self, authorization: str) -> Caller | None:
        """Return somebody new for each known key."""
        found = super().caller(authorization)
        return None if found is None else Caller(found.name, Limits(LIMIT))


def key_ring(kind: type[KeyRing] = KeyRing) -> KeyRing:
    """Return a ring with one key beside the token, which may make two requests a minute."""
    return kind(TOKEN, [KeyEntry("somebody", KEY, LIMIT)])


def test_a_key_opens_its_own_routes_and_no_other():
    """Every registered route × method with a key: those that tell of others are refused."""

    async def check(port):
        headers = [f"Host: 127.0.0.1:{port}", f"Authorization: Bearer {KEY}"]
        paths = registered_paths()
        assert set(paths) > KEY_PATHS
        for path, method in itertools.product(paths, METHODS):
            status = await ask(port, method, path, headers)
            if path in KEY_PATHS | OPEN_PATHS:
                assert status not in (401, 403), (method, path, status)
            else:
                assert status in ((403,) if method in ("GET", "HEAD") else (400, 403, 405)), (method, path, status)

    on_server(check, key_ring())


@pytest.mark.parametrize("proxy", ["pass", "buffer"])
def test_a_proxy_opens_nothing(proxy):
    """Route × method × host × origin × credentials: through the proxy every answer is what it is without one."""

    async def check(port):
        own = f"127.0.0.1:{port}"
        credentials = [[], ["Authorization: Bearer wrong"], [f"Authorization: Bearer {TOKEN}"]]
        methods = ("GET", "POST", "DELETE", "OPTIONS")
        num_refused = 0
        async with edge_port(port, EdgeConfig(proxy=proxy)) as way:
            for path, method, host, origin, token in itertools.product(
                registered_paths(), methods, (own, "evil.com"), ([], ["Origin: http://evil.com"]), credentials
            ):
                headers = [f"Host: {host}", *origin, *token]
                direct, by_proxy = await ask(port, method, path, headers), await ask(way, method, path, headers)
                assert by_proxy == direct, (method, path, headers)
                num_refused += direct in (401, 403)
        assert num_refused > 300

    on_server(check, key_ring())


async def check_limit(port, way):
    """See that a key is limited whatever else its requests say, and that nobody else is."""
    own = [f"Host: 127.0.0.1:{port}"]
    key = [*own, f"Authorization: Bearer {KEY}"]
    for _ in range(LIMIT):
        assert await ask(way, "POST", "/tokenize", key) == 415
    for number, disguise in enumerate(DISGUISES):
        assert await ask(way, "POST", "/tokenize", [*key, disguise.format(number)]) == 429, disguise
        assert await ask(way, "POST", f"/tokenize?key={number}", key) == 429
    assert await ask(way, "POST", "/tokenize", [*own, f"Authorization: Bearer {TOKEN}"]) == 415


@pytest.mark.parametrize("proxy", ["none", "pass"])
def test_no_header_gets_a_key_around_its_limit(proxy):
    """The key alone says whose request it is, with or without a proxy."""

    async def check(port):
        async with edge_port(port, EdgeConfig(proxy=proxy)) as way:
            await check_limit(port, way)

    on_server(check, key_ring())


def test_a_ring_that_forgets_is_caught():
    """The same check on a server that counts each request for itself fails."""
    with pytest.raises(AssertionError, match="X-Forwarded-For"):
        on_server(lambda port: check_limit(port, port), key_ring(ForgetfulKeyRing))


@pytest.mark.parametrize(
    "authorization",
    [
        "bearer {key}", "Bearer  {key}", "Bearer {key} ", "Bearer {key},Bearer {key}", "Bearer\t{key}", "{key}",
        "Basic {key}", "Bearer {key}x", "Bearer ",
    ],
)  # fmt: skip
def test_what_is_not_exactly_a_key_is_none(authorization):
    """There is one way to write a key, so there are no two names for one allowance."""

    async def check(port):
        headers = [f"Host: 127.0.0.1:{port}", f"Authorization: {authorization.format(key=KEY)}"]
        assert await ask(port, "GET", "/v1/models", headers) in (
            (200,) if authorization == "Bearer {key} " else (400, 401)  # white space around a header is none of it
        )

    on_server(check, key_ring())


def test_of_two_authorizations_the_first_counts():
    """A second one, known or not, neither opens nor spends anything."""

    async def check(port):
        own = f"Host: 127.0.0.1:{port}"
        known, unknown = f"Authorization: Bearer {TOKEN}", "Authorization: Bearer wrong"
        assert await ask(port, "GET", "/v1/models", [own, known, unknown]) == 200
        assert await ask(port, "GET", "/v1/models", [own, unknown, known]) == 401

    on_server(check, key_ring())

"""Who may come in: the right host, no foreign page, the token. Everything else is refused before it costs anything."""

from __future__ import annotations

import logging

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from demo_engine.api.connection import Connection
from demo_engine.api.errors import ApiError
from demo_engine.api.gateway.keys import Caller, KeyRing
from demo_engine.recorder.server_trace import StageClock

MAX_HEADERS = 100
MAX_HEADER_BYTES = 16_384
OPEN_PATHS = frozenset({"/healthz", "/readyz"})
KEY_ROUTES = frozenset(
    {"/v1/models", "/v1/models/{model}", "/v1/chat/completions", "/v1/completions", "/v1/clock", "/tokenize"}
)
"""What a key may use that is not the run's own token: neither others' traces nor the metrics."""
STAGES = web.RequestKey("stages", StageClock)
CALLER = web.RequestKey("caller", Caller)
_log = logging.getLogger(__name__)


class Guard:
    """The outermost middleware.

    It also starts the request's stage clock: the instant at which the headers have been read.
    """

    def __init__(self, keys: KeyRing) -> None:
        self._keys = keys
        self._hosts: frozenset[str] = frozenset()
        self._origins: frozenset[str] = frozenset()

    def allow(self, port: int) -> frozenset[str]:
        """Accept this port's names of the loopback interface, and return them."""
        self._hosts = frozenset(f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]"))
        self._origins = frozenset(f"http://{host}" for host in self._hosts)
        return self._hosts

    def middleware(self) -> Middleware:
        """Return the middleware for the application."""

        @web.middleware
        async def guarded(request: web.Request, handler: Handler) -> web.StreamResponse:
            request[STAGES] = StageClock()
            connection = request.protocol
            if isinstance(connection, Connection):
                connection.headers_read()
            try:
                return await self._answer(request, handler)
            finally:
                if isinstance(connection, Connection):
                    connection.reply_done()

        return guarded

    async def _answer(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            self._check(request)
            return await handler(request)
        except ApiError as error:
            return error.response()
        except web.HTTPException as error:
            return ApiError(error.status, f"{request.method} {request.path}: {error.reason}").response()
        except Exception:
            _log.exception("%s %s failed", request.method, request.path)
            return ApiError(500, "internal error; see the server's log").response()

    def _check(self, request: web.Request) -> None:
        num_header_bytes = sum(len(name) + len(value) for name, value in request.raw_headers)
        if num_header_bytes > MAX_HEADER_BYTES or len(request.raw_headers) > MAX_HEADERS:
            raise ApiError(431, f"more than {MAX_HEADERS} headers, or than {MAX_HEADER_BYTES} bytes of them")
        hosts = request.headers.getall("Host", [])
        if len(hosts) != 1 or hosts[0] not in self._hosts:
            raise ApiError(403, "this host name is not served; use the printed address", code="host_not_allowed")
        origins = request.headers.getall("Origin", [])
        if any(origin not in self._origins for origin in origins) or len(origins) > 1:
            raise ApiError(403, "requests from other sites are refused", code="origin_not_allowed")
        if request.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin"):
            raise ApiError(403, "requests from other sites are refused", code="origin_not_allowed")
        if request.path in OPEN_PATHS:
            return
        caller = self._keys.caller(request.headers.get("Authorization", ""))
        if caller is None:
            raise ApiError(401, "missing or wrong token; send Authorization: Bearer <token>", code="invalid_api_key")
        resource = request.match_info.route.resource
        if not caller.is_master and resource is not None and resource.canonical not in KEY_ROUTES:
            raise ApiError(403, "this key may not use this route; the server's own token may", code="key_not_allowed")
        request[CALLER] = caller

"""Who may come in. Everything else is refused before it costs anything.

The server listens on this machine only, yet every web page that the speaker has open can send it requests. So a
request must name our own address (which stops other names that resolve to it), must not come from another site, and
everything but the deck's files needs the run's token.
"""

from __future__ import annotations

import hmac
import json
import logging
from collections.abc import Mapping

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

_log = logging.getLogger(__name__)

HEADERS: Mapping[str, str] = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
"""What every answer carries; no header ever allows another origin."""


class Refusal(Exception):  # noqa: N818 (an answer, not a fault)
    """A request is refused, with this status."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class Guard:
    """The outermost middleware.

    Args:
        token: The run's token.
        open_paths: What may be read without it.
        port: The port that is listened on.
    """

    def __init__(self, token: str, open_paths: frozenset[str], port: int) -> None:
        self._expected = f"Bearer {token}".encode()
        self._open_paths = open_paths
        self._hosts = frozenset(f"{name}:{port}" for name in ("127.0.0.1", "localhost"))

    def middleware(self) -> Middleware:
        """Return the middleware for the application."""

        @web.middleware
        async def guarded(request: web.Request, handler: Handler) -> web.StreamResponse:
            try:
                self._check(request)
                return await handler(request)
            except Refusal as refusal:
                return _answer(refusal.status, str(refusal))
            except web.HTTPException as error:
                return _answer(error.status, error.reason)
            except Exception:
                _log.exception("%s %s failed", request.method, request.path)
                return _answer(500, "internal error")

        return guarded

    def _check(self, request: web.Request) -> None:
        hosts = request.headers.getall("Host", [])
        if len(hosts) != 1 or hosts[0] not in self._hosts:
            raise Refusal(403, "this host name is not served; use the printed address")
        origins = request.headers.getall("Origin", [])
        if origins not in ([], [f"http://{hosts[0]}"]):
            raise Refusal(403, "requests from other sites are refused")
        if request.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin"):
            raise Refusal(403, "requests from other sites are refused")
        if request.method == "GET" and request.path in self._open_paths:
            return
        given = request.headers.get("Authorization", "").encode("utf-8", "surrogateescape")
        if not hmac.compare_digest(given, self._expected):
            raise Refusal(401, "missing or wrong token; open the printed address")
        if request.method == "POST" and request.content_type != "application/json":
            raise Refusal(415, "send application/json")


async def add_headers(_request: web.BaseRequest, response: web.StreamResponse) -> None:
    """Put the common headers on an answer, errors and streams included."""
    for name, value in HEADERS.items():
        response.headers[name] = value


def _answer(status: int, reason: str) -> web.Response:
    return web.Response(status=status, text=json.dumps({"error": reason}), content_type="application/json")

"""Refusals, in the shape that OpenAI's clients expect."""

from __future__ import annotations

from typing import Any

import msgspec
from aiohttp import web

_TYPES = {401: "authentication_error", 403: "permission_error", 404: "not_found_error", 429: "rate_limit_error"}


class ApiError(Exception):
    """A request that is refused, or fails; the client sees the message and the code."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        code: str | None = None,
        param: str | None = None,
        retry_s: int | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.code = code
        self.param = param
        self.retry_s = retry_s

    def body(self) -> dict[str, Any]:
        """Return the error object."""
        default = "invalid_request_error" if self.status < 500 else "server_error"
        kind = _TYPES.get(self.status, default)
        return {"error": {"message": self.message, "type": kind, "param": self.param, "code": self.code}}

    def response(self) -> web.Response:
        """Return the whole reply."""
        headers = {} if self.retry_s is None else {"Retry-After": str(self.retry_s)}
        return json_response(self.body(), status=self.status, headers=headers)


def json_response(value: Any, *, status: int = 200, headers: dict[str, str] | None = None) -> web.Response:
    """Return ``value`` as a JSON reply."""
    all_headers = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"} | (headers or {})
    return web.Response(
        body=msgspec.json.encode(value), status=status, headers=all_headers, content_type="application/json"
    )

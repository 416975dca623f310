"""The routes."""

from __future__ import annotations

from collections.abc import Sequence

from aiohttp import web

from demo_engine.api.completions import Completions
from demo_engine.api.errors import ApiError, json_response
from demo_engine.api.guard import STAGES, Guard
from demo_engine.api.metrics import Metrics
from demo_engine.api.replica import Replica

MAX_BODY_BYTES = 1_000_000


def make_app(
    guard: Guard, completions: Completions, metrics: Metrics, replicas: Sequence[Replica], model_id: str
) -> web.Application:
    """Return the application: everything behind the guard, everything registered here."""
    model = {"id": model_id, "object": "model", "created": 0, "owned_by": "spanreel"}

    async def models(_request: web.Request) -> web.Response:
        return json_response({"object": "list", "data": [model]})

    async def one_model(request: web.Request) -> web.Response:
        if request.match_info["model"] != model_id:
            raise ApiError(404, "no such model", param="model", code="model_not_found")
        return json_response(model)

    async def healthz(_request: web.Request) -> web.Response:
        return json_response({"ok": True})

    async def readyz(_request: web.Request) -> web.Response:
        reasons = [reason for replica in replicas if (reason := replica.why_not_ready()) is not None]
        engines = [{"silent_ms": replica.silent_ms, "num_steps": replica.gauges.num_steps} for replica in replicas]
        ok = not reasons or len(reasons) < len(replicas)  # one that lives is enough
        if completions.seats.is_closed:
            ok, reasons = False, ["the server is shutting down", *reasons]
        return json_response({"ok": ok, "reasons": reasons, "engines": engines}, status=200 if ok else 503)

    async def clock(request: web.Request) -> web.Response:
        return json_response({"perf_counter_ns": request[STAGES].start_ns})

    async def numbers(_request: web.Request) -> web.Response:
        return web.Response(text=metrics.text())

    app = web.Application(middlewares=[guard.middleware()], client_max_size=MAX_BODY_BYTES)
    app.add_routes(
        [
            web.get("/healthz", healthz),
            web.get("/readyz", readyz),
            web.get("/metrics", numbers),
            web.get("/v1/clock", clock),
            web.get("/v1/models", models),
            web.get("/v1/models/{model}", one_model),
            web.get("/v1/traces/{request_id}", completions.trace),
            web.post("/v1/chat/completions", completions.chat),
            web.post("/v1/completions", completions.plain),
            web.post("/tokenize", completions.tokenize),
        ]
    )
    return app

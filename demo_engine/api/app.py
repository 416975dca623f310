"""The routes."""

from __future__ import annotations

from collections.abc import Sequence

from aiohttp import web

from demo_engine.api.completions import Completions
from demo_engine.api.errors import ApiError, json_response
from demo_engine.api.guard import Guard
from demo_engine.api.replica import Replica

MAX_BODY_BYTES = 1_000_000


def make_app(guard: Guard, completions: Completions, replicas: Sequence[Replica], model_id: str) -> web.Application:
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
        ready = all(replica.is_ready for replica in replicas)
        reasons = [replica.lost for replica in replicas if replica.lost]
        return json_response({"ok": ready, "reasons": reasons}, status=200 if ready else 503)

    async def metrics(_request: web.Request) -> web.Response:
        return web.Response(text=_metrics_text(completions, replicas))

    app = web.Application(middlewares=[guard.middleware()], client_max_size=MAX_BODY_BYTES)
    app.add_routes(
        [
            web.get("/healthz", healthz),
            web.get("/readyz", readyz),
            web.get("/metrics", metrics),
            web.get("/v1/models", models),
            web.get("/v1/models/{model}", one_model),
            web.get("/v1/traces/{request_id}", completions.trace),
            web.post("/v1/chat/completions", completions.chat),
            web.post("/v1/completions", completions.plain),
        ]
    )
    return app


def _metrics_text(completions: Completions, replicas: Sequence[Replica]) -> str:
    """Return the counters and gauges in Prometheus' text format."""
    lines = ["# TYPE spanreel_requests_total counter"]
    lines += [f'spanreel_requests_total{{finish_reason="{k}"}} {v}' for k, v in completions.counts.items()]
    lines += ["# TYPE spanreel_output_tokens_total counter"]
    lines += [f"spanreel_output_tokens_total {completions.num_output_tokens}"]
    for name in ("running", "waiting", "kv_blocks_used", "kv_blocks_total", "num_steps"):
        lines.append(f"# TYPE spanreel_{name} gauge")
        lines += [
            f'spanreel_{name}{{replica="{index}"}} {getattr(replica.gauges, name)}'
            for index, replica in enumerate(replicas)
        ]
    return "\n".join(lines) + "\n"

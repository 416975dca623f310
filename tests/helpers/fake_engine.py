"""A stand-in for the engine: a real process that speaks its command line and its HTTP, with scripted times.

``python fake_engine.py SCRIPT.json``. The script is read anew at each request, so that a test can change it meanwhile:

- ``load_s``: time until it is ready; ``fail``: end at once with these words on standard error;
- ``gap_s``: time before each token; ``num_tokens``; ``texts``: what the tokens say, in turn;
- ``stall_at``: number of the token before which it stops sending; ``garbage_at``: before which it sends no event;
- ``error_at``: before which the reply becomes an error event; ``status``: refuse with this status.

It writes its process id to ``pid`` beside the script, and each request's body to ``body-N.json``.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from pathlib import Path

from aiohttp import web

MODEL = "fake-model"
DEFAULTS = {"load_s": 0.0, "gap_s": 0.05, "num_tokens": 8, "texts": ["word "]}


class FakeEngine:
    def __init__(self, script_file: Path, token: str) -> None:
        self._script_file = script_file
        self._authorization = f"Bearer {token}"
        self._num_requests = 0

    @property
    def script(self) -> dict:
        return DEFAULTS | json.loads(self._script_file.read_text())

    async def models(self, request: web.Request) -> web.Response:
        self._authorize(request)
        return web.json_response({"object": "list", "data": [{"id": MODEL}]})

    async def readyz(self, _request: web.Request) -> web.Response:
        return web.json_response({"ok": True})

    async def chat(self, request: web.Request) -> web.StreamResponse:
        zero_ns = time.perf_counter_ns()
        self._authorize(request)
        script = self.script
        self._num_requests += 1
        self._script_file.with_name(f"body-{self._num_requests}.json").write_bytes(await request.read())
        if "status" in script:
            return web.Response(status=script["status"])
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)

        async def span(name: str, start_ns: int) -> int:
            now_ns = time.perf_counter_ns() - zero_ns
            data = {"name": name, "component": "", "start_ns": start_ns, "duration_ns": now_ns - start_ns}
            await response.write(b": span " + json.dumps(data).encode() + b"\n\n")
            return now_ns

        end_ns = 0
        for name in ("receive", "template", "encode", "route", "submit", "queue"):
            end_ns = await span(name, end_ns)
        for index in range(script["num_tokens"]):
            await asyncio.sleep(script["gap_s"])
            if script.get("stall_at") == index:
                await asyncio.sleep(600)
            if script.get("garbage_at") == index:
                await response.write(b"\xff\x00 no event \n\n")
            if script.get("error_at") == index:
                await response.write(b'data: {"error": {"message": "lost"}}\n\ndata: [DONE]\n\n')
                return response
            end_ns = await span("decode" if index else "prefill", end_ns)
            text = script["texts"][index % len(script["texts"])]
            await response.write(_chunk({"content": text}))
        await response.write(_chunk({}) + b"data: [DONE]\n\n")
        return response

    def _authorize(self, request: web.Request) -> None:
        if request.headers.get("Authorization") != self._authorization:
            raise web.HTTPUnauthorized


def _chunk(delta: dict) -> bytes:
    return b"data: " + json.dumps({"choices": [{"index": 0, "delta": delta}]}).encode() + b"\n\n"


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


async def serve(script_file: Path) -> None:
    """Serve until killed."""
    engine = FakeEngine(script_file, os.environ["SPANREEL_TOKEN"])
    if "fail" in engine.script:
        sys.exit(f"error: {engine.script['fail']}")
    app = web.Application()
    app.add_routes(
        [
            web.get("/v1/models", engine.models),
            web.get("/readyz", engine.readyz),
            web.post("/v1/chat/completions", engine.chat),
        ]
    )
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    script_file.with_name("pid").write_text(str(os.getpid()))
    say(f"spanreel engine at http://127.0.0.1:{port}")
    say(f"token {os.environ['SPANREEL_TOKEN']}")
    await asyncio.sleep(engine.script["load_s"])
    say("ready")
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1])))

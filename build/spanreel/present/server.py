"""The server of a talk, from start to end: deck and live demos from one address of this machine."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import signal
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

import msgspec
from aiohttp import web

from spanreel.errors import EnvironmentLackError
from spanreel.present.client import Question
from spanreel.present.events import HEARTBEAT, StateEvent, sse
from spanreel.present.guard import Guard, Refusal, add_headers
from spanreel.present.live import LiveDemo
from spanreel.present.machine import machine_label
from spanreel.present.site import Asset, site
from spanreel.present.supervisor import Supervisor
from traces.schema import SpanType

HOST = "127.0.0.1"
DEMO = "one-request"
MAX_BODY_BYTES = 1_000
HEARTBEAT_S = 0.25
_BODY_DEADLINE_S = 5.0


@dataclass(frozen=True)
class Stage:
    """What is put on."""

    deck_page: bytes
    question: Question
    span_types: Mapping[str, SpanType]
    recorded_e2e_ns: int
    engine_command: Sequence[str] | None
    """None presents the recording alone."""
    why_no_engine: str = "started without live"


class Order(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which demo to run."""

    demo: str


class Routes:
    """The live part: one stream of events a page, and two verbs."""

    def __init__(self, demo: LiveDemo, supervisor: Supervisor | None) -> None:
        self._demo = demo
        self._supervisor = supervisor

    async def events(self, request: web.Request) -> web.StreamResponse:
        """``GET /live/events``: everything that a page draws from, with a heartbeat when nothing happens."""
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream; charset=utf-8"})
        await response.prepare(request)
        with self._demo.hub.listener() as listener, contextlib.suppress(ConnectionError):
            await response.write(sse(self._demo.state))
            while True:
                try:
                    data = await listener.next(HEARTBEAT_S)
                except TimeoutError:
                    data = HEARTBEAT
                if data is None:
                    break
                await response.write(data)
        return response

    async def run(self, request: web.Request) -> web.Response:
        """``POST /live/run``: start a demo."""
        try:
            async with asyncio.timeout(_BODY_DEADLINE_S):
                order = msgspec.json.decode(await request.read(), type=Order)
        except TimeoutError:
            raise Refusal(408, "the body did not arrive") from None
        except msgspec.DecodeError as error:
            raise Refusal(400, str(error)) from error
        if order.demo != DEMO:
            raise Refusal(404, f"there is no demo {order.demo!r}")
        engine = self._supervisor.engine if self._supervisor is not None else None
        if engine is None:
            raise Refusal(409, self._demo.state.reason)
        number = self._demo.start(engine)
        if number is None:
            raise Refusal(409, "a run is under way")
        return web.json_response({"run": number}, status=202)

    async def stop(self, _request: web.Request) -> web.Response:
        """``POST /live/stop``: end the run."""
        self._demo.stop()
        return web.json_response({}, status=202)


def make_app(assets: Mapping[str, Asset], routes: Routes, guard: Guard) -> web.Application:
    """Return the application: what is not registered here does not exist."""
    app = web.Application(middlewares=[guard.middleware()], client_max_size=MAX_BODY_BYTES)
    for path, asset in assets.items():
        app.router.add_get(path, _serve(asset), allow_head=False)
    app.router.add_get("/live/events", routes.events, allow_head=False)
    app.router.add_post("/live/run", routes.run)
    app.router.add_post("/live/stop", routes.stop)
    app.on_response_prepare.append(add_headers)
    return app


def _serve(asset: Asset) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def handler(_request: web.Request) -> web.Response:
        headers = {"Content-Type": f"{asset.media_type}; charset=utf-8", "Content-Security-Policy": asset.policy}
        return web.Response(body=asset.data, headers=headers)

    return handler


async def present(stage: Stage, port: int, say: Callable[[str], None], slide: str = "") -> None:
    """Serve until a signal asks to stop; the engine is gone when this returns.

    Args:
        stage: What is put on.
        port: Where to listen; 0 takes a free port.
        say: Called with each line for the speaker.
        slide: Where the printed address leads; empty for the first slide.

    Raises:
        EnvironmentLackError: The port is taken.
    """
    token = secrets.token_urlsafe(32)
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    demo = LiveDemo(stage.question, stage.span_types, StateEvent("replay", stage.why_no_engine))
    supervisor = _supervisor(stage, demo, say)
    assets = site(stage.deck_page)
    with _listener(port) as listener:
        port = listener.getsockname()[1]
        guard = Guard(token, frozenset(assets), port)
        app = make_app(assets, Routes(demo, supervisor), guard)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
        await runner.setup()
        await web.SockSite(runner, listener).start()
        say(f"deck at http://{HOST}:{port}/start#{token}{'/' + slide if slide else ''}")
        keeping = asyncio.create_task(supervisor.run()) if supervisor is not None else None
        try:
            await stop.wait()
        finally:
            await demo.close()
            if keeping is not None:
                keeping.cancel()
                await asyncio.gather(keeping, return_exceptions=True)
            await runner.cleanup()


def _listener(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
        listener.listen()
    except OSError as error:
        listener.close()
        raise EnvironmentLackError(f"port {port} on {HOST}: {error.strerror}; choose another with --port") from error
    return listener


def _supervisor(stage: Stage, demo: LiveDemo, say: Callable[[str], None]) -> Supervisor | None:
    if stage.engine_command is None:
        return None

    def tell(state: StateEvent) -> None:
        say(f"engine: {state.reason or 'ready'}")
        demo.set_state(state)

    return Supervisor(stage.engine_command, machine_label(), tell)

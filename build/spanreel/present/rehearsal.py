"""Every live demo once, without a browser: for the speaker before the talk, and for a terminal."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field

from spanreel.errors import EnvironmentLackError, SpanreelError
from spanreel.present.client import ask
from spanreel.present.events import EndEvent, SpanEvent, StateEvent, TokenEvent
from spanreel.present.machine import machine_label
from spanreel.present.reply import ReplyError
from spanreel.present.server import DEMO, Stage
from spanreel.present.supervisor import Supervisor
from traces.wording import stage as stage_words
from traces.wording import total

READY_WITHIN_S = 120.0
_LANE_CHARS = 72


@dataclass
class LiveRun:
    """What one live request did."""

    end: EndEvent
    spans: list[SpanEvent] = field(default_factory=list)
    tokens: list[TokenEvent] = field(default_factory=list)


async def rehearse(stage: Stage, say: Callable[[str], None], *, as_json: bool = False) -> None:
    """Run every live demo and say how it went beside its recording.

    Raises:
        EnvironmentLackError: There is no engine, or it does not become ready.
        SpanreelError: A demo failed.
    """
    run = await run_once(stage, say if not as_json else lambda _line: None)
    ratio = run.end.e2e_ns / stage.recorded_e2e_ns
    if as_json:
        demo = {
            "demo": DEMO,
            "ttft_ns": run.end.ttft_ns,
            "e2e_ns": run.end.e2e_ns,
            "recorded_e2e_ns": stage.recorded_e2e_ns,
            "ratio": ratio,
            "ok": True,
        }
        say(json.dumps({"demos": [demo], "ok": True}))
        return
    say(
        f"{DEMO}: first token {total(run.end.ttft_ns)}, end {total(run.end.e2e_ns)}, "
        f"recorded {total(stage.recorded_e2e_ns)}, ×{ratio:.2f}"
    )


async def run_in_terminal(stage: Stage, say: Callable[[str], None]) -> None:
    """Run the request once and draw its lanes as text.

    Raises:
        EnvironmentLackError: There is no engine, or it does not become ready.
        SpanreelError: The run failed.
    """
    run = await run_once(stage, say)
    lanes: dict[str, list[SpanEvent]] = {}
    for span in run.spans:
        lanes.setdefault(span.component, []).append(span)
    for component, spans in lanes.items():
        sum_ns = sum(span.duration_ns for span in spans)
        say(f"{component:>10} {_lane(spans, run.end.e2e_ns)} {stage_words(sum_ns)}")
    say(f"{'':>10} {'0':<{_LANE_CHARS}} {total(run.end.e2e_ns)}")
    say(f"first token {total(run.end.ttft_ns)}, end {total(run.end.e2e_ns)}")
    say("".join(token.text for token in run.tokens))


async def run_once(stage: Stage, say: Callable[[str], None]) -> LiveRun:
    """Start the engine, run the request, end the engine.

    Raises:
        EnvironmentLackError: There is no engine, or it does not become ready.
        SpanreelError: The run failed.
    """
    if stage.engine_command is None:
        raise EnvironmentLackError(f"no live demo: {stage.why_no_engine}")
    news: asyncio.Queue[StateEvent] = asyncio.Queue()
    supervisor = Supervisor(stage.engine_command, machine_label(), news.put_nowait)
    keeping = asyncio.create_task(supervisor.run())
    try:
        await _wait_until_ready(news, say)
        return await _run(stage, supervisor)
    finally:
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)


async def _wait_until_ready(news: asyncio.Queue[StateEvent], say: Callable[[str], None]) -> None:
    try:
        async with asyncio.timeout(READY_WITHIN_S):
            while (state := await news.get()).state != "live":
                say(f"engine: {state.reason}")
                if state.state == "replay":
                    raise EnvironmentLackError(f"the engine does not start: {state.reason}; see: spanreel doctor")
    except TimeoutError:
        raise EnvironmentLackError(f"the engine is not ready after {READY_WITHIN_S:.0f} s") from None


async def _run(stage: Stage, supervisor: Supervisor) -> LiveRun:
    assert supervisor.engine is not None  # noqa: S101 (it has just said that it is ready)
    spans: list[SpanEvent] = []
    tokens: list[TokenEvent] = []
    try:
        async for event in ask(supervisor.engine, stage.question, stage.span_types):
            match event:
                case SpanEvent():
                    spans.append(event)
                case TokenEvent():
                    tokens.append(event)
                case EndEvent():
                    return LiveRun(event, spans, tokens)
    except (ReplyError, OSError, TimeoutError) as error:
        raise SpanreelError(f"demo {DEMO} failed: {error}") from error
    raise SpanreelError(f"demo {DEMO} failed: the engine broke off")


def _lane(spans: list[SpanEvent], whole_ns: int) -> str:
    """Return a lane as text; a character is full where a span covers any of it."""
    cells = [" "] * _LANE_CHARS
    for span in spans:
        first = int(span.start_ns * _LANE_CHARS / whole_ns)
        last = int((span.start_ns + span.duration_ns) * _LANE_CHARS / whole_ns)
        mark = "░" if span.pattern == "wait" else "█"
        for index in range(first, min(last, _LANE_CHARS - 1) + 1):
            cells[index] = mark
    return "".join(cells)

"""Where a prompt is tokenized decides who stands still meanwhile: everybody, or nobody."""

from __future__ import annotations

import asyncio
import math
import time
import urllib.request
from dataclasses import replace
from itertools import pairwise

import msgspec
import pytest

from demo_engine.api.prompts import Prompts
from demo_engine.api.tokenizer import PromptTokenizer
from demo_engine.api.validation import ChatMessage
from demo_engine.client.records import After, Call, RunPlan
from demo_engine.core.config import EngineConfig
from demo_engine.experiments.processes import running_client, running_server
from demo_engine.recorder.join import join_run
from demo_engine.recorder.server_trace import ServerSpan, ServerTrace, StageClock
from demo_engine.recorder.span_types import span_types
from engine_server import chat_body, open_stream, start_server, stop_server
from toy_server import write_toy_folder
from trace_factory import make_experiment
from traces import request_path
from traces.check import check_experiment

TEXT = "A long text. " * 60_000
TOKENIZE = {"prompt": TEXT}
MODES = ("loop", "thread", "pool")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder that a server can open."""
    return write_toy_folder(tmp_path_factory.mktemp("toy"))


def make_prompts(folder, **settings) -> Prompts:
    """Return what a server with these settings tokenizes with."""
    return Prompts(PromptTokenizer(folder / "tokenizer.json"), len(TEXT), EngineConfig(**settings))


def encode_span(stages: StageClock | ServerTrace) -> ServerSpan:
    """Return the span of the tokenizer's work."""
    return next(span for span in stages.spans if span.name == "encode")


def inside(span: ServerSpan, instants_ns: list[int]) -> list[int]:
    """Return the instants within a span, with its two ends."""
    end_ns = span.start_ns + span.duration_ns
    return [span.start_ns, *(at for at in instants_ns if span.start_ns < at < end_ns), end_ns]


def longest_silence(span: ServerSpan, instants_ns: list[int]) -> float:
    """Return the largest part of the span in which nothing happened."""
    instants_ns = inside(span, instants_ns)
    return max(later - earlier for earlier, later in pairwise(instants_ns)) / span.duration_ns


async def tick(ticks_ns: list[int]) -> None:
    """Stand for everyone else on the event loop: note the time, again and again."""
    while True:
        ticks_ns.append(time.perf_counter_ns())
        await asyncio.sleep(0)


def ticks_while_tokenizing(folder, mode: str) -> tuple[ServerSpan, list[int]]:
    """Tokenize beside a task that ticks; return the work's span and the ticks."""

    async def main() -> tuple[ServerSpan, list[int]]:
        ticks_ns: list[int] = []
        ticking = asyncio.create_task(tick(ticks_ns))
        await asyncio.sleep(0)
        stages = StageClock()
        ids = await make_prompts(folder, tokenizer_mode=mode).of_any_text(TEXT, stages)
        ticking.cancel()
        assert len(ids) == len(TEXT)
        return encode_span(stages), ticks_ns

    return asyncio.run(main())


def test_on_the_loop_nothing_else_happens_meanwhile(folder):
    """The event loop does not tick once while it tokenizes."""
    span, ticks_ns = ticks_while_tokenizing(folder, "loop")
    assert len(inside(span, ticks_ns)) == 2


def test_a_thread_that_keeps_the_interpreter_does_not_help(folder):
    """With ``encode`` in a worker thread the loop stands still for most of the work all the same."""
    span, ticks_ns = ticks_while_tokenizing(folder, "thread")
    assert longest_silence(span, ticks_ns) > 0.5


def test_a_pool_that_lets_go_of_the_interpreter_does(folder):
    """With ``encode_batch`` the loop ticks on and on."""
    span, ticks_ns = ticks_while_tokenizing(folder, "pool")
    assert len(inside(span, ticks_ns)) > 20


@pytest.mark.parametrize("mode", MODES)
def test_the_stages_of_tokenizing_touch_and_name_the_hand_over(folder, mode):
    """A worker's work lies between the way to it and the way back; on the loop there are no such ways."""
    stages = StageClock()
    messages = [ChatMessage("user", "Hello")]
    ids = asyncio.run(make_prompts(folder, tokenizer_mode=mode).of_chat(messages, stages))
    assert [span.name for span in stages.spans] == {
        "loop": ["template", "encode"],
        "thread": ["handoff", "template", "encode", "handback"],
        "pool": ["handoff", "template", "encode", "handback"],
    }[mode]
    assert stages.spans[0].start_ns == stages.start_ns
    for earlier, later in pairwise(stages.spans):
        assert earlier.start_ns + earlier.duration_ns == later.start_ns
    assert encode_span(stages).attributes["mode"] == mode
    assert ids == asyncio.run(make_prompts(folder).of_chat(messages, StageClock()))


def test_a_text_waits_for_a_worker_that_is_busy(folder):
    """With one worker the second of two texts is handed over when the first is done."""

    async def main() -> tuple[StageClock, StageClock]:
        prompts = make_prompts(folder, tokenizer_mode="pool")
        clocks = StageClock(), StageClock()
        await asyncio.gather(*(prompts.of_any_text(TEXT, stages) for stages in clocks))
        return clocks

    first, second = (encode_span(stages) for stages in asyncio.run(main()))
    assert second.start_ns >= first.start_ns + first.duration_ns


@pytest.mark.slow
@pytest.mark.engine
@pytest.mark.parametrize("mode", MODES)
def test_the_stream_of_a_neighbour_shows_where_a_long_text_is_tokenized(folder, mode):
    """On the loop and in a thread a stream stops while another client's text is cut; beside the loop it flows."""
    server = replace(start_server("--model", str(folder), "--tokenizer-mode", mode), model=folder.name)
    body = chat_body(server, max_tokens=4000, ignore_eos=True, stream=True)
    with open_stream(server, body) as neighbour:
        neighbour.settimeout(60)
        neighbour_id = _request_id(_read(neighbour, num_events=5))
        request = urllib.request.Request(  # noqa: S310 (loopback)
            f"{server.url}/tokenize", data=msgspec.json.encode(TOKENIZE), headers=server.headers
        )
        with urllib.request.urlopen(request, timeout=60) as reply:  # noqa: S310
            text_id = reply.headers["X-Request-Id"]
        _read(neighbour)
    span = encode_span(_trace(server, text_id))
    writes_ns = _trace(server, neighbour_id).tokens.write_ns
    server.wait_until_idle()
    assert stop_server(server) == 0
    assert writes_ns[0] < span.start_ns < span.start_ns + span.duration_ns < writes_ns[-1]
    if mode == "loop":
        assert len(inside(span, writes_ns)) == 2
    elif mode == "thread":
        assert longest_silence(span, writes_ns) > 0.5
    else:
        assert len(inside(span, writes_ns)) > 5


@pytest.mark.slow
@pytest.mark.engine
def test_a_text_that_is_only_cut_has_a_path_in_the_trace(folder):
    """Beside a stream, the path of a ``/tokenize`` names the ways to the worker and back, and sums to its end."""
    config = EngineConfig(tokenizer_mode="pool", max_model_len=8192)
    text = Call("t1", TEXT, 1, after=After("r1"), tokenize=True)
    plan = RunPlan([Call("r1", "Hello", 400, role="neighbour"), text])
    with running_server(str(folder), config) as server, running_client(server, folder.name) as client:
        result = client.run(plan)
    run = join_run(plan, result)
    experiment = make_experiment(run, request_id="t1")
    experiment = msgspec.structs.replace(experiment, span_types=span_types(run.clock.bracket_ns))
    check_experiment(experiment, folder)
    path = request_path(experiment, run, run.requests[1])
    names = [span.name for span in path]
    assert names[names.index("receive") :] == ["receive", "handoff", "encode", "handback", "write", "response"]
    record = result.calls[1].client
    assert path[-1].end_ns == record.end_ns - record.intended_start_ns
    assert run.requests[1].num_prompt_tokens == len(TEXT)


def _trace(server, request_id: str) -> ServerTrace:
    return msgspec.json.decode(server.get(f"/v1/traces/{request_id}"), type=ServerTrace)


def _read(connection, num_events: float = math.inf) -> bytes:
    """Return a reply up to so many of its events, or to its end."""
    data = b""
    while data.count(b"data: ") < num_events and not data.endswith(b"0\r\n\r\n"):
        data += connection.recv(65536)
    return data


def _request_id(data: bytes) -> str:
    return data.partition(b"X-Request-Id: ")[2].partition(b"\r\n")[0].decode()

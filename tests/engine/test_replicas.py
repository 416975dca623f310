"""Two engines behind one server: work is spread, one may die or hang, and no stream ends in silence."""

from __future__ import annotations

import signal
import time
import urllib.error
import urllib.request
from contextlib import ExitStack
from dataclasses import replace
from itertools import pairwise

import msgspec
import psutil
import pytest
from prometheus_client.parser import text_string_to_metric_families

from demo_engine.client.records import Call, RunPlan
from demo_engine.core.config import EngineConfig
from demo_engine.experiments.processes import running_client, running_server
from demo_engine.recorder.join import join_run
from demo_engine.recorder.server_trace import ServerTrace
from demo_engine.recorder.span_types import span_types
from engine_server import open_stream, start_server, stop_server
from toy_server import write_toy_folder
from traces import SCHEMA_VERSION, Experiment, request_path
from traces.check import check_experiment
from traces.metrics import e2e_ns
from traces.schema import Arm, Exemplar, Prediction

pytestmark = [pytest.mark.slow, pytest.mark.engine]

LONG, SHORT = 4000, 40
PREFIX_TOKENS = 64


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder that a server can open."""
    return write_toy_folder(tmp_path_factory.mktemp("toy"))


@pytest.fixture
def server(folder):
    """Two replicas that run one request each; a prompt goes to the one that served prompts that begin alike."""
    settings = ["--replicas", "2", "--max-num-seqs", "1", "--routing-policy", "prefix"]
    server = replace(start_server("--model", str(folder), *settings), model=folder.name)
    yield server
    assert stop_server(server) == 0


def metric(server, name: str) -> list[int]:
    """Return a gauge of each replica."""
    families = text_string_to_metric_families(server.get("/metrics"))
    return [int(sample.value) for family in families for sample in family.samples if sample.name == f"spanreel_{name}"]


def wait_until_whole(server, timeout_s: float = 60) -> None:
    """Wait until both replicas are ready, with nothing to do and every block free."""
    end = time.monotonic() + timeout_s
    idle = {"ready": [1, 1], "running": [0, 0], "waiting": [0, 0], "kv_blocks_used": [0, 0]}
    while {name: metric(server, name) for name in idle} != idle:
        assert time.monotonic() < end, server.get("/readyz")
        time.sleep(0.1)


def engines(server) -> list[psutil.Process]:
    """Return the replicas' processes, in the order of their numbers as long as none was replaced."""
    return sorted(psutil.Process(server.process.pid).children(), key=lambda process: process.create_time())


def complete(server, letter: str, max_tokens: int = SHORT) -> ServerTrace:
    """Complete a prompt that begins with this letter, and return what became of it."""
    body = msgspec.json.encode(_body(server, letter, max_tokens))
    url = f"{server.url}/v1/completions"
    request = urllib.request.Request(url, data=body, headers=server.headers)  # noqa: S310 (loopback)
    with urllib.request.urlopen(request, timeout=60) as reply:  # noqa: S310
        return trace(server, reply.headers["X-Request-Id"])


def trace(server, request_id: str) -> ServerTrace:
    """Return what the server wrote down of a request."""
    return msgspec.json.decode(server.get(f"/v1/traces/{request_id}"), type=ServerTrace)


def _body(server, letter: str, max_tokens: int) -> dict:
    prompt = {"prompt": letter * PREFIX_TOKENS, "temperature": 0, "ignore_eos": True}
    return prompt | {"model": server.model, "max_tokens": max_tokens}


def stream(server, letter: str, max_tokens: int):
    """Begin a streamed completion and return its connection when the reply has begun."""
    body = _body(server, letter, max_tokens) | {"stream": True}
    connection = open_stream(server, body, path="/v1/completions")
    connection.settimeout(60)
    return connection


def read(connection, num_events: float = float("inf")) -> str:
    """Return a reply up to so many of its events, or to its end."""
    data = b""
    while data.count(b"data: ") < num_events and not data.endswith(b"0\r\n\r\n"):
        data += connection.recv(65536)
    return data.decode()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_replica_that_dies_or_hangs_is_taken_out_and_returns(server, number):
    """What it was saying ends with one error; what it had not begun, the other says; the other's own goes on."""
    mine, others = "m", "o"
    expected = complete(server, mine)
    assert (expected.replica, complete(server, others).replica) == (0, 1)
    with ExitStack() as stack:
        running = stack.enter_context(stream(server, mine, LONG))
        begun = read(running, num_events=2)
        waiting = stack.enter_context(stream(server, mine, SHORT))
        neighbour = stack.enter_context(stream(server, others, SHORT))
        engines(server)[0].send_signal(number)
        broken, moved, untouched = (read(connection) for connection in (running, waiting, neighbour))
    assert server.get("/readyz").startswith('{"ok":true')
    assert (begun + broken).count('"error"') == broken.count("data: [DONE]") == 1
    assert '"finish_reason":"' not in begun + broken
    for text in (moved, untouched):
        assert text.count('"finish_reason":"length"') == text.count("data: [DONE]") == 1
        assert '"error"' not in text

    told = trace(server, moved.partition("X-Request-Id: ")[2].split()[0])
    assert told.replica == 1
    assert told.tokens.id == expected.tokens.id
    names = [span.name for span in told.spans]
    assert [name for name in names if name in ("route", "lost", "engine")] == ["route", "lost", "route", "engine"]
    for earlier, later in pairwise(told.spans):
        assert earlier.start_ns + earlier.duration_ns == later.start_ns

    assert complete(server, others).replica == 1
    wait_until_whole(server)
    assert complete(server, mine).replica == 1
    assert complete(server, "?").replica == 0
    assert metric(server, "requests_total")[3::4] == [1, 0]  # those that ended with an error


def test_clients_that_leave_cost_neither_replica_a_block(server):
    """Streams on both replicas, dropped while they wait or run, leave both idle and whole."""
    with ExitStack() as stack:
        for number in range(12):
            connection = stack.enter_context(stream(server, "abc"[number % 3], LONG))
            if number < 2:
                read(connection, num_events=2)
    wait_until_whole(server)
    assert metric(server, "requests_total")[2::4] == [8, 4]  # those that were cancelled


def test_without_any_replica_the_server_says_so_and_recovers(server):
    """Both killed at once: not ready, requests are refused with 503, and after a while both serve again."""
    for engine in engines(server):
        engine.kill()
    refused = None
    while refused is None:
        try:
            server.get("/readyz")
        except urllib.error.HTTPError as error:
            refused = error
    assert refused.code == 503
    refused.close()
    wait_until_whole(server)
    assert complete(server, "a").finish_reason == "length"


def test_the_trace_of_a_run_knows_which_replica_made_which_step(folder):
    """Four requests at once on two replicas: each path sums exactly, and each replica numbers its own steps."""
    config = EngineConfig(replicas=2, routing_policy="round_robin", max_model_len=8192)
    calls = [Call(f"r{number}", "a word " * (number + 1), SHORT, chat=False) for number in range(4)]
    plan = RunPlan(calls)
    with running_server(str(folder), config) as server, running_client(server, folder.name) as client:
        results = [client.run(plan) for _ in range(2)]
    runs = [join_run(plan, result) for result in results]
    prediction = Prediction("none", {}, 1, 1, "0" * 64)
    arm = Arm("A", "two replicas", {}, runs, Exemplar(0, "r0", "first"))
    types = span_types(runs[0].clock.bracket_ns)
    experiment = Experiment(SCHEMA_VERSION, "e05", "routing", "?", prediction, types, [arm])
    check_experiment(experiment, folder)
    for run, result in zip(runs, results, strict=True):
        assert sorted(request.replica for request in run.requests) == [0, 0, 1, 1]
        for request, done in zip(run.requests, result.calls, strict=True):
            path = request_path(experiment, run, request)
            assert sum(span.duration_ns for span in path) == done.client.end_ns - done.client.intended_start_ns
            assert e2e_ns(path) == path[-1].end_ns
            steps = run.steps_of(request)
            assert all(request.id in steps.request_ids[step] for step in request.tokens.step)
            (route,) = (span for span in path if span.name == "route")
            assert route.attributes["replica"] == request.replica
            assert route.attributes["reason"] == "next in turn"

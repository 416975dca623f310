"""Link and proxy before a real server, as processes of their own: traces that add up, and nothing left behind."""

from __future__ import annotations

import socket
import ssl
import subprocess
import sys
from dataclasses import replace
from itertools import product
from urllib.parse import urlsplit

import msgspec
import pytest

from demo_engine.client.records import Call, ConnectionUse, RunPlan
from demo_engine.core.config import EngineConfig
from demo_engine.experiments.engines import Engines
from demo_engine.experiments.plan import ArmPlan
from demo_engine.experiments.processes import Server, running_client, running_edge, running_server
from demo_engine.network.config import EdgeConfig
from demo_engine.recorder.join import join_run
from demo_engine.recorder.span_types import span_types
from engine_server import RunningServer, chat_body, start_server, stop_server
from toy_server import write_toy_folder
from trace_factory import make_experiment
from traces import request_path
from traces.check import check_experiment, unattributed_faults

pytestmark = [pytest.mark.slow, pytest.mark.engine]
CONFIGS = [
    EdgeConfig(),
    EdgeConfig(proxy="pass"),
    EdgeConfig(10, 0, True, "none"),
    EdgeConfig(10, 1000, True, "buffer"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder that a server can open."""
    return write_toy_folder(tmp_path_factory.mktemp("toy"))


def test_the_path_adds_up_whatever_stands_before_the_server(folder, tmp_path):
    """Spans touch, sum to the end exactly, name the emulated ones, and leave next to nothing without a name."""
    plan = RunPlan([Call("r7", "Hello", 12)])
    with running_server(str(folder), EngineConfig(max_model_len=512)) as server:
        for config, kind in product(CONFIGS, ("new", "reused")):
            with running_edge(server, config) as edge, running_client(server, folder.name, edge) as client:
                result = client.run(msgspec.structs.replace(plan, use=ConnectionUse(connection=kind)))
            run = join_run(plan, result)
            types = span_types(run.clock.bracket_ns, run.clock.client_bracket_ns)
            experiment = msgspec.structs.replace(make_experiment(run), span_types=types)
            check_experiment(experiment, tmp_path)
            assert unattributed_faults(experiment) == []
            path = request_path(experiment, run, run.requests[0])
            names = [span.name for span in path]
            assert sum(span.duration_ns for span in path) == path[-1].end_ns
            assert {span.name for span in path if span.evidence == "emulated"} <= {"tls", "uplink", "downlink"}
            assert ("uplink" in names, "request" in names) == (config.has_link, not config.has_link)
            assert ("tls" in names) == (config.link_tls and kind == "new")
            assert ("connect" in names) == (kind == "new")
            assert ("relay" in names) == (config.proxy != "none")
            tokens = run.requests[0].tokens
            assert len(tokens.proxy_ns) == (12 if config.proxy != "none" else 0)
            if config.proxy == "buffer":
                assert (
                    len({gap_ns for gap_ns in tokens.recv_gap_ns[1:] if gap_ns}) <= 1
                )  # one lump, in two reads at most
            request = next(span for span in path if span.name in ("request", "uplink"))
            assert request.type.uncertainty_ns == run.clock.client_bracket_ns > 0


@pytest.fixture(scope="module")
def toy_server(folder):
    """One server for all; at the end it exits with 0."""
    server = replace(start_server("--model", str(folder)), model=folder.name)
    yield server
    assert stop_server(server) == 0


def num_cancelled(server: RunningServer) -> int:
    """Return how many requests were cancelled."""
    lines = server.get("/metrics").splitlines()
    return sum(int(line.split()[-1]) for line in lines if 'finish_reason="cancelled"' in line)


@pytest.mark.parametrize("config", CONFIGS[1:])
@pytest.mark.parametrize("is_stream", [True, False])
def test_clients_that_hang_up_leave_no_block_behind_through_link_and_proxy(toy_server, config, is_stream):
    """Whenever they go, in whatever mode, the server is idle afterwards with every block free."""
    before = num_cancelled(toy_server)
    body = chat_body(toy_server, max_tokens=3000, stream=is_stream, ignore_eos=True)
    with running_edge(Server(toy_server.url, toy_server.token), config) as edge:
        for num_bytes in (0, 1, 400, 900):
            _leave_after(toy_server, edge, num_bytes if is_stream else 0, body)
            toy_server.wait_until_idle()
    assert num_cancelled(toy_server) - before == 4


def _leave_after(server: RunningServer, edge, num_bytes: int, body: dict) -> None:
    """Send a request through an edge and close the connection after so many bytes of the reply."""
    place = urlsplit(edge.url)
    data = msgspec.json.encode(body)
    lines = ["POST /v1/chat/completions HTTP/1.1", f"Host: {urlsplit(server.url).netloc}"]
    lines += [f"Content-Length: {len(data)}", *(f"{name}: {value}" for name, value in server.headers.items())]
    connection = socket.create_connection((place.hostname, place.port))
    if edge.certificate is not None:
        context = ssl.create_default_context(cafile=edge.certificate)
        connection = context.wrap_socket(connection, server_hostname=place.hostname)
    with connection:
        connection.sendall("\r\n".join([*lines, "", ""]).encode() + data)
        while server.gauge("running") == 0:
            pass
        if edge.config.proxy != "buffer":  # which sends nothing before the end
            while num_bytes > 0:
                num_bytes -= len(connection.recv(num_bytes))


def test_an_edge_ends_with_its_input_and_says_what_is_wrong_with_its_address(tmp_path):
    """It leaves no process behind, and a bad address is one line and exit code 2."""
    command = [sys.executable, "-m", "demo_engine.network"]
    done = subprocess.run(
        [*command, "http://127.0.0.1:1", "--proxy=pass"], input="", capture_output=True, text=True, check=False
    )
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 1)
    done = subprocess.run([*command, "nonsense", "--link-tls"], input="", capture_output=True, text=True, check=False)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)


def test_an_arm_of_an_experiment_has_its_own_way_to_its_server(folder):
    """Arms that differ in nothing else alternate on two resident servers, one of them behind a link."""

    def arm(name: str, edge: EdgeConfig) -> ArmPlan:
        config = EngineConfig(max_model_len=512)
        return ArmPlan(name, name, config, lambda _seed: RunPlan([Call("r7", "Hello", 2)]), edge=edge)

    direct, linked = arm("A", EdgeConfig()), arm("B", EdgeConfig(link_delay_ms=5))
    with Engines(str(folder), folder.name) as engines:
        for _ in range(2):
            results = [engines.run(one, one.make_run(1)) for one in (direct, linked)]
            assert [result.edge for result in results] == [direct.edge, linked.edge]
            assert all(result.calls[0].failure is None for result in results)

"""One server with the real model for the whole suite: at the end the same process, idle, every block free."""

from __future__ import annotations

import pytest

from conformance.keys import BURST_S, write_keys
from conformance.target import Target
from engine_server import start_server, stop_server

SETTINGS = [
    "--enable-prefix-caching", "--num-kv-blocks", "40", "--max-num-queued", "4", "--vllm-metric-names",
]  # fmt: skip
"""A pool that eight requests can outgrow, and a queue that four can fill."""


@pytest.fixture(scope="session")
def target(tmp_path_factory):
    """The server's address; what every test of the suite leaves behind is looked at when the last has ended."""
    keys = write_keys(tmp_path_factory.mktemp("keys") / "keys.json")
    server = start_server(*SETTINGS, f"--keys={keys}", f"--limit-burst-s={BURST_S}", module="nan_server")
    target = Target(server.url.removeprefix("http://"), server.token, server.model)
    try:
        yield target
        target.wait_until_idle()
        assert target.metric("spanreel_kv_blocks_total") == 40
        assert server.process.poll() is None, "it is no longer the process that was started"
    finally:
        exit_code = stop_server(server)
    assert exit_code == 0, "the engine was lost"

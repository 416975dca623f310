"""A real server for the suite: started once, stopped at the end, and found idle and whole between tests."""

from __future__ import annotations

import pytest

from engine_server import start_server, stop_server


@pytest.fixture(scope="session")
def suite_server():
    """One server for all tests of the API; at the end it is the same process, idle, and exits with 0."""
    server = start_server()
    yield server
    server.wait_until_idle()
    assert server.process.poll() is None
    assert stop_server(server) == 0


@pytest.fixture
def server(suite_server):
    """The suite's server; after each test every block is free again."""
    yield suite_server
    suite_server.wait_until_idle()


@pytest.fixture
def own_server():
    """A server of the test's own, which the test may kill."""
    server = start_server()
    yield server
    if server.process.poll() is None:
        server.process.kill()
        server.process.wait()
    server.process.stdout.close()

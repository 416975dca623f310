"""Every fault on a real server: what was promised holds, and where the server has a mistake, that is found."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

import faulty_server
from demo_engine.faults import subject
from demo_engine.faults.command import FAULTS

pytestmark = [pytest.mark.slow, pytest.mark.engine]
BY_NAME = {fault.name: fault for fault in FAULTS}
MISTAKES = {
    "leaving by proxy": "deaf", "not reading": "patient", "killed": "silent", "lost": "silent", "draining": "hasty",
}  # fmt: skip
"""Fault and the mistake in the server that must show. Without the proxy a deaf server may be over with the toy model's
short answers before anybody looks."""


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_the_promise_holds(fault, folder):
    """The fault is made a few times; nothing that was promised is broken, whatever the times were."""
    findings = asyncio.run(fault.make(str(folder), fault.quick_size))
    assert findings.broken == []


@pytest.mark.parametrize(("name", "mistake"), MISTAKES.items())
def test_a_server_that_breaks_the_promise_is_found_out(name, mistake, folder, monkeypatch):
    """The same fault on a server with one mistake reports what is broken."""
    helpers = str(Path(faulty_server.__file__).parent)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([helpers, os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("MISTAKE", mistake)
    monkeypatch.setattr(subject, "SERVER_MODULE", "faulty_server")
    monkeypatch.setattr(subject, "PATIENCE_S", 5.0)
    fault = BY_NAME[name]
    findings = asyncio.run(fault.make(str(folder), min(fault.quick_size, 4)))
    assert findings.broken

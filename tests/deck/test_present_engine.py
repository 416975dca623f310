"""The engine lives and dies with the presenter, and its deaths in between are noticed and mended."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from present_kit import is_running, make_stage, start_presenter, wait_until
from spanreel.errors import SpanreelError
from spanreel.present.rehearsal import run_once

pytestmark = pytest.mark.slow


@pytest.fixture
def presenter(tmp_path):
    """A presenter with a ready engine."""
    presenter = start_presenter(tmp_path)
    presenter.wait_until_live()
    yield presenter
    presenter.end()


def _run(presenter) -> list[dict]:
    """Start a run and return its events up to the one that ends it."""
    with closing(presenter.events()) as events:
        next(events)
        assert presenter.post("/live/run", {"demo": "one-request"}) == 202
        seen = []
        for event in events:
            seen.append(event)
            if event["type"] in ("end", "failed"):
                return seen
    raise AssertionError(seen)


def _until(events, state: str) -> list[dict]:
    """Return the events up to the one that tells a state."""
    seen = []
    for event in events:
        seen.append(event)
        if event["type"] == "state" and event["state"] == state:
            break
    return seen


def test_a_run_tells_every_stage_and_token(presenter):
    """The client's stages touch from zero, the engine's follow, and all tokens come before the end."""
    start, *events, end = _run(presenter)
    assert start == {"type": "start", "run": 1}
    assert end["type"] == "end"
    spans = [event for event in events if event["type"] == "span"]
    assert [span["name"] for span in spans[:4]] == ["prepare", "connect", "request", "receive"]
    ends = [span["start_ns"] + span["duration_ns"] for span in spans]
    assert [span["start_ns"] for span in spans[:4]] == [0, *ends[:3]]
    assert [span["role"] for span in spans].count("decode") == 7
    assert next(span for span in spans if span["name"] == "queue")["pattern"] == "wait"
    tokens = [event for event in events if event["type"] == "token"]
    assert [token["text"] for token in tokens] == ["word "] * 8
    assert end["ttft_ns"] == tokens[0]["t_ns"] < end["e2e_ns"]
    assert max(ends) <= end["e2e_ns"]


def test_the_live_request_is_the_recorded_one(presenter):
    """The engine receives the recorded prompt and is asked for as many tokens as the recording has."""
    _run(presenter)
    body = (presenter.folder / "body-1.json").read_text()
    assert '"content": "tok"' in body
    assert '"max_tokens": 8' in body


def test_one_run_at_a_time(presenter):
    """A second order during a run is refused, and one after its end is carried out."""
    presenter.script(gap_s=0.3)
    with closing(presenter.events()) as events:
        assert presenter.post("/live/run", {"demo": "one-request"}) == 202
        assert presenter.post("/live/run", {"demo": "one-request"}) == 409
        next(event for event in events if event["type"] == "end")
    assert presenter.post("/live/run", {"demo": "one-request"}) == 202


def test_stop_ends_the_run(presenter):
    """A stopped run is told as failed, at once."""
    presenter.script(stall_at=2)
    with closing(presenter.events()) as events:
        presenter.post("/live/run", {"demo": "one-request"})
        next(event for event in events if event["type"] == "token")
        presenter.post("/live/stop", {})
        assert next(event for event in events if event["type"] == "failed")["reason"] == "stopped"


@pytest.mark.parametrize("fault", [{"garbage_at": 2}, {"error_at": 2}, {"status": 500}])
def test_a_broken_reply_fails_the_run_alone(presenter, fault):
    """Garbage, an error event or a refusal ends the run with its reason; the next run is whole."""
    presenter.script(**fault)
    assert _run(presenter)[-1]["type"] == "failed"
    presenter.script()
    assert _run(presenter)[-1]["type"] == "end"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_dead_engine_is_noticed_and_replaced(presenter, number):
    """Killed or stopped in the middle of a run: the run fails, the state says so, and a new engine takes its place."""
    dead = presenter.engine_pid
    with closing(presenter.events()) as events:
        presenter.script(gap_s=0.5)
        presenter.post("/live/run", {"demo": "one-request"})
        next(event for event in events if event["type"] == "token")
        os.kill(dead, number)
        told = {event["type"]: event for event in _until(events, "starting")}
    assert told["failed"]["run"] == 1
    assert "end" not in told
    presenter.wait_until_live()
    assert presenter.engine_pid != dead
    wait_until(lambda: not is_running(dead))
    presenter.script()
    assert _run(presenter)[-1]["type"] == "end"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
@pytest.mark.parametrize("stopped", [False, True])
def test_no_engine_outlives_the_presenter(tmp_path, number, stopped):
    """However the presenter ends, and even if the engine is stopped at that moment, nothing is left behind."""
    presenter = start_presenter(tmp_path)
    presenter.wait_until_live()
    engine = presenter.engine_pid
    if stopped:
        os.kill(engine, signal.SIGSTOP)
    code = presenter.end(number)
    assert code == (-signal.SIGKILL if number == signal.SIGKILL else 0)
    wait_until(lambda: not is_running(engine))


def test_the_engine_yields_to_the_slides(presenter):
    """It runs at a lower priority than the presenter."""
    assert os.getpriority(os.PRIO_PROCESS, presenter.engine_pid) > os.getpriority(
        os.PRIO_PROCESS, presenter.process.pid
    )


def test_no_token_is_in_the_process_list(presenter):
    """Neither the run's token nor the engine's shows among the arguments of any process."""
    environment = Path(f"/proc/{presenter.engine_pid}/environ").read_bytes()
    engine_token = environment.partition(b"SPANREEL_TOKEN=")[2].partition(b"\0")[0]
    arguments = b"".join(path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists())
    assert len(engine_token) >= 43
    assert engine_token not in arguments
    assert presenter.token.encode() not in arguments


def test_the_last_word_of_an_engine_that_cannot_start_is_told(tmp_path):
    """Pages learn why there is nothing live, and the deck is served all the same."""
    presenter = start_presenter(tmp_path, fail="no model; prepare it with: make test")
    try:
        assert presenter.wait_for_state("replay")["reason"] == "no model; prepare it with: make test"
        assert presenter.request("GET", "/")[0] == 200
    finally:
        presenter.end()


def test_a_rehearsal_runs_the_demo_once_and_leaves_nothing(tmp_path):
    """The run has every token, and its engine is gone when it is over."""
    start_presenter(tmp_path, live=False).end()
    run = asyncio.run(run_once(make_stage(tmp_path), lambda _line: None))
    assert len(run.tokens) == 8
    assert run.end.e2e_ns >= run.end.ttft_ns > 0
    assert not is_running(int((tmp_path / "pid").read_text()))


def test_a_rehearsal_with_a_broken_engine_says_what_failed(tmp_path):
    """A reply that breaks off is a failure with a reason, not a traceback."""
    start_presenter(tmp_path, live=False, error_at=2).end()
    with pytest.raises(SpanreelError, match="one-request failed: engine reported an error"):
        asyncio.run(run_once(make_stage(tmp_path), lambda _line: None))


def test_a_port_in_use_is_one_line_and_exit_code_4(tmp_path):
    """The message names the port and the option that chooses another."""
    presenter = start_presenter(tmp_path, live=False)
    port = presenter.host.rpartition(":")[2]
    program = (
        "import asyncio, sys; sys.path[:0] = [{helpers!r}]\n"
        "from pathlib import Path; from present_kit import make_stage; from spanreel.present.server import present\n"
        "from spanreel.errors import SpanreelError\n"
        "try: asyncio.run(present(make_stage(Path({folder!r}), live=False), {port}, print))\n"
        "except SpanreelError as error: print(error.message); sys.exit(error.exit_code)\n"
    ).format(helpers=str(Path(__file__).parents[1] / "helpers"), folder=str(tmp_path), port=port)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    presenter.end()
    assert done.returncode == 4
    assert done.stdout.count("\n") == 1
    assert f"port {port}" in done.stdout
    assert "--port" in done.stdout
    assert not done.stderr

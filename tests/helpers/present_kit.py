"""A presenter as a real process, with the fake engine as its child, and raw requests to it."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from page_kit import make_deck
from slides.twin import one_request
from spanreel.deck import BuiltSlide
from spanreel.page import write_page
from spanreel.present.client import Question
from spanreel.present.server import Stage
from trace_factory import MS, make_experiment, make_run, make_set
from traces import load_set

HELPERS = Path(__file__).parent
SCRIPT = {"gap_s": 0.1, "num_tokens": 8}
WITHIN_S = 30.0


@dataclass
class Presenter:
    """A presenter process. The engine's script lies in its folder."""

    folder: Path
    process: subprocess.Popen
    address: str

    @property
    def origin(self) -> str:
        return self.address.partition("/start#")[0]

    @property
    def host(self) -> str:
        return self.origin.removeprefix("http://")

    @property
    def token(self) -> str:
        return self.address.partition("#")[2].partition("/")[0]

    @property
    def engine_pid(self) -> int:
        return int((self.folder / "pid").read_text())

    def script(self, **changes: object) -> None:
        """Tell the engine what to do from its next request on."""
        part = self.folder / "script.part"
        part.write_text(json.dumps(SCRIPT | changes))
        part.replace(self.folder / "script.json")

    def request(self, method: str, path: str, headers: dict[str, str] | None = None, body: bytes | None = None):
        """Send a request with exactly these headers and return status, headers and body."""
        with contextlib.closing(http.client.HTTPConnection(self.host, timeout=WITHIN_S)) as connection:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            sent = {"Host": self.host, "Content-Length": str(len(body or b""))} | (headers or {})
            for name, value in sent.items():
                connection.putheader(name, value)
            connection.endheaders(body)
            reply = connection.getresponse()
            return reply.status, dict(reply.getheaders()), b"" if "/live/events" in path else reply.read()

    def post(self, path: str, value: object) -> int:
        """Send an authorised POST and return its status."""
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        return self.request("POST", path, headers, json.dumps(value).encode())[0]

    def events(self) -> Iterator[dict[str, Any]]:
        """Yield what the server tells a page."""
        with contextlib.closing(http.client.HTTPConnection(self.host, timeout=WITHIN_S)) as connection:
            connection.request("GET", "/live/events", headers={"Authorization": f"Bearer {self.token}"})
            for line in connection.getresponse():
                if line.startswith(b"data: "):
                    yield json.loads(line[6:])

    def wait_for_state(self, state: str) -> dict[str, Any]:
        """Wait until pages are told a state, and return it."""
        with contextlib.closing(self.events()) as events:
            return next(event for event in events if event["type"] == "state" and event["state"] == state)

    def wait_until_live(self) -> None:
        """Wait for a ready engine."""
        self.wait_for_state("live")

    def end(self, number: int = signal.SIGTERM) -> int:
        """Send the presenter a signal and return its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        code = self.process.wait(WITHIN_S)
        self.process.stdout.close()
        return code


def start_presenter(folder: Path, *, live: bool = True, slide: str = "", **script: object) -> Presenter:
    """Write a deck, its recorded set and the engine's script into a folder and present them."""
    if not (folder / "deck.html").exists():
        twin = one_request(load_set(make_fast_set(folder)))
        deck = make_deck()
        second = BuiltSlide("second", "hook", "text", "The second slide", "none", 1.0, "")
        deck = msgspec.structs.replace(deck, slides=[*deck.slides, second])
        write_page(folder, deck, {}, twin, folder / "deck.html")
    (folder / "script.json").write_text(json.dumps(SCRIPT | script))
    process = subprocess.Popen(
        [sys.executable, __file__, str(folder), "live" if live else "no-live", slide],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    line = process.stdout.readline()
    assert line.startswith("deck at "), line + process.stdout.read()
    return Presenter(folder, process, line.split()[-1])


def make_fast_set(folder: Path) -> Path:
    """Write a recorded set whose request takes about half a second."""
    run = make_run(tokens=8, prefill_ns=100 * MS, decode_ns=50 * MS, queue_ns=20 * MS)
    return make_set(folder, make_experiment(run))


def make_stage(folder: Path, *, live: bool = True) -> Stage:
    """Return what is put on from a folder."""
    trace_set = load_set(folder / "synthetic")
    twin = one_request(trace_set)
    command = [sys.executable, str(HELPERS / "fake_engine.py"), str(folder / "script.json")]
    return Stage(
        deck_page=(folder / "deck.html").read_bytes(),
        question=Question(twin["prompt"], len(twin["tokens"])),
        span_types={each.name: each for each in trace_set.experiment("e23").span_types},
        recorded_e2e_ns=twin["e2e_ns"],
        engine_command=command if live else None,
    )


def is_running(pid: int) -> bool:
    """Return whether a process runs; one that nobody has collected yet does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait for something to become true; fail after a time that no healthy machine needs."""
    end = time.monotonic() + WITHIN_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


if __name__ == "__main__":
    import asyncio

    from spanreel.present.server import present

    def say(line: str) -> None:
        """Print a line at once."""
        with contextlib.suppress(BrokenPipeError):
            os.write(1, f"{line}\n".encode())

    _folder, _live, _slide = sys.argv[1:]
    asyncio.run(present(make_stage(Path(_folder), live=_live == "live"), 0, say, _slide))

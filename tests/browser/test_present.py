"""The deck on stage in a real Chromium: live runs, engines that die, the recording in their place, and the keys."""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from playwright.sync_api import Page, expect

from page_kit import HOSTILE
from present_kit import WITHIN_S, Presenter, start_presenter, wait_until

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="reads /proc"),
]

PATIENCE_MS = 1000 * WITHIN_S
FALLBACK_MS = 5000  # the promise is 2 s; the machine of a test may be busy


@pytest.fixture
def presenter(tmp_path) -> Iterator[Presenter]:
    """A presenter whose engine is ready; its deck has the demo and one slide more."""
    presenter = start_presenter(tmp_path)
    presenter.wait_until_live()
    yield presenter
    presenter.end()


def _open(page: Page, address: str) -> None:
    page.goto(address)
    page.wait_for_selector("live-request svg")


def _open_live(page: Page, presenter: Presenter) -> None:
    _open(page, presenter.address)
    _badge(page, "LIVE", is_filled=False)


def _replays(page: Page, within_ms: float = PATIENCE_MS) -> None:
    """Wait for the recording; it may be over, its badge an outline again, before a busy machine looks."""
    expect(page.locator(".live-badge-text")).to_have_text("REPLAY", timeout=within_ms)


def _badge(page: Page, word: str, *, is_filled: bool, within_ms: float = PATIENCE_MS) -> None:
    badge = page.locator(".live-badge-text.live-filled" if is_filled else ".live-badge-text:not(.live-filled)")
    expect(badge).to_have_text(word, timeout=within_ms)


def _hint(page: Page, words: str) -> None:
    expect(page.locator(".live-hint")).to_contain_text(words, timeout=PATIENCE_MS)


def _result(page: Page, beginning: str) -> str:
    expect(page.locator(".live-result")).to_contain_text(re.compile("^" + beginning), timeout=PATIENCE_MS)
    return page.locator(".live-result").text_content() or ""


def _wait_for_token(page: Page) -> None:
    page.wait_for_selector(".live-token", state="attached", timeout=PATIENCE_MS)


def test_the_address_opens_the_deck_and_forgets_the_token(page, record, presenter):
    """The key is gone from address bar and history, nothing but our own server is asked, and nothing is amiss."""
    _open_live(page, presenter)
    assert presenter.token not in page.url
    page.go_back()
    assert presenter.token not in page.url
    assert [url for url in record.requests if not url.startswith(presenter.origin)] == []
    assert record.problems == []


def test_a_live_run_fills_the_lanes(page, record, presenter):
    """While events arrive LIVE is filled; at the end every stage, token and word is there, and LIVE stands down."""
    _open_live(page, presenter)
    page.keyboard.press("Enter")
    _badge(page, "LIVE", is_filled=True)
    assert "the recording" in _result(page, "First token")
    _badge(page, "LIVE", is_filled=False)
    assert page.locator(".live-token").count() == 8
    assert page.locator(".live-say").first.text_content() == ("word " * 8).strip()
    assert record.problems == []


def test_a_second_run_starts_from_an_empty_panel(page, presenter):
    """Enter after the end runs again, and leaves the bars of one run, not of two."""
    _open_live(page, presenter)
    for _ in range(2):
        page.keyboard.press("Enter")
        _badge(page, "LIVE", is_filled=True)
        _badge(page, "LIVE", is_filled=False)
        assert page.locator(".live-token").count() == 8


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_the_recording_takes_over_when_the_engine_dies(page, record, presenter, number):
    """REPLAY shows and plays to its end, slide keys work, and only L returns to a live engine."""
    presenter.script(gap_s=0.5)
    _open_live(page, presenter)
    page.keyboard.press("Enter")
    _wait_for_token(page)
    os.kill(presenter.engine_pid, number)
    _replays(page, FALLBACK_MS)
    page.keyboard.press("PageDown")
    page.wait_for_selector('.reveal[data-slide="second"]')
    page.keyboard.press("PageUp")
    page.wait_for_selector('.reveal[data-slide="call"]')
    _hint(page, "L live")
    page.keyboard.press("Enter")
    _result(page, "Recorded")
    _badge(page, "REPLAY", is_filled=False)
    presenter.script()
    page.keyboard.press("l")
    page.keyboard.press("Enter")
    _badge(page, "LIVE", is_filled=True)
    _result(page, "First token")
    assert record.problems == []


def test_the_recording_takes_over_when_the_server_dies(page, presenter):
    """Without server the page plays on by itself and says why."""
    presenter.script(gap_s=0.5)
    _open_live(page, presenter)
    page.keyboard.press("Enter")
    _wait_for_token(page)
    presenter.end(signal.SIGKILL)
    _replays(page, FALLBACK_MS)
    _hint(page, "live server is gone")
    _result(page, "Recorded")


def test_a_silent_server_counts_as_gone(page, presenter):
    """A server that is stopped keeps its connections open; the missing heartbeat gives it away."""
    presenter.script(gap_s=0.5)
    _open_live(page, presenter)
    page.keyboard.press("Enter")
    _wait_for_token(page)
    presenter.process.send_signal(signal.SIGSTOP)
    try:
        _replays(page, FALLBACK_MS)
    finally:
        presenter.process.send_signal(signal.SIGCONT)
    _hint(page, "L live")


def test_a_slow_engine_is_not_a_dead_one(page, presenter):
    """A run that stalls stays live and offers the recording, which plays on R, and L returns."""
    presenter.script(stall_at=2)
    _open_live(page, presenter)
    page.keyboard.press("Enter")
    _hint(page, "R recording")
    _badge(page, "LIVE", is_filled=True)
    page.keyboard.press("r")
    _replays(page)
    _result(page, "Recorded")
    presenter.script()
    page.keyboard.press("l")
    page.keyboard.press("Enter")
    _result(page, "First token")


def test_a_run_that_never_ends_is_left_for_the_recording(page, presenter):
    """After a long time the recording plays by itself, and says that the run was slow."""
    presenter.script(stall_at=2)
    _open_live(page, presenter)
    page.keyboard.press("Enter")
    _badge(page, "LIVE", is_filled=True)
    _replays(page, 2 * PATIENCE_MS)
    _hint(page, "this run is slow")


@pytest.mark.parametrize("fault", [{"garbage_at": 2}, {"error_at": 2}, {"status": 500}])
def test_a_broken_reply_gives_way_to_the_recording(page, record, presenter, fault):
    """Garbage, an error event or a refusal: the recording plays and says what the engine did."""
    presenter.script(**fault)
    _open_live(page, presenter)
    page.keyboard.press("Enter")
    _replays(page)
    expect(page.locator(".live-hint")).to_contain_text(re.compile("engine (sent|reported|answered)"))
    assert record.problems == []


def test_a_run_that_outgrows_the_axis_gets_a_longer_one(page, presenter):
    """The axis grows and says so, the recording shrinks with it, and the whole run stays on the page."""
    _open_live(page, presenter)
    recorded = page.locator(".live-first").last
    before = float(recorded.get_attribute("x") or 0)
    presenter.script(gap_s=0.4)
    page.keyboard.press("Enter")
    _hint(page, "axis now")
    _result(page, "Today")
    assert float(recorded.get_attribute("x") or 0) < before
    assert float(page.locator(".live-token").last.get_attribute("x") or 0) < 1824


def test_keys_are_the_slides_after_escape_and_the_panels_on_return(page, presenter):
    """Escape gives Enter, R and L back; coming back to the slide takes them again."""
    _open_live(page, presenter)
    page.keyboard.press("Escape")
    page.keyboard.press("Enter")
    page.keyboard.press("r")
    _badge(page, "LIVE", is_filled=False)
    page.keyboard.press("PageDown")
    page.wait_for_selector('.reveal[data-slide="second"]')
    page.keyboard.press("PageUp")
    page.wait_for_selector('.reveal[data-slide="call"]')
    page.keyboard.press("r")
    _replays(page)


def test_leaving_the_slide_ends_the_run(page, presenter):
    """The engine is free again when the speaker has gone on."""
    presenter.script(stall_at=1)
    _open_live(page, presenter)
    page.keyboard.press("Enter")
    _wait_for_token(page)
    page.keyboard.press("PageDown")
    page.wait_for_selector('.reveal[data-slide="second"]')
    wait_until(lambda: presenter.post("/live/run", {"demo": "one-request"}) == 202)


def test_what_the_model_writes_is_text(page, record, presenter):
    """Markup and scripts in the answer are shown letter by letter and do nothing, however they are cut."""
    half = len(HOSTILE) // 2
    presenter.script(texts=[HOSTILE[:half], HOSTILE[half:], "<img src=x onerror=alert(1)>", " end"])
    _open_live(page, presenter)
    page.keyboard.press("Enter")
    _result(page, "First token")
    assert "<img src=x onerror=alert(1)> end" in (page.locator(".live-say").last.text_content() or "")
    assert page.locator("live-request img, live-request script, live-request b").count() == 0
    assert record.problems == []


def test_without_live_the_recording_plays_and_says_why(page, record, tmp_path):
    """`--no-live` needs no engine; Enter plays the recording with its machine and its hash."""
    presenter = start_presenter(tmp_path, live=False)
    try:
        _open(page, presenter.address)
        _badge(page, "REPLAY", is_filled=False)
        _hint(page, "started without live")
        page.keyboard.press("Enter")
        _replays(page)
        _result(page, "Recorded")
        expect(page.locator("svg text.live-mono")).to_contain_text("trace ")
        assert record.problems == []
    finally:
        presenter.end()


def test_as_a_file_the_recording_plays(page, record, tmp_path):
    """The built deck alone, opened from a file, never says LIVE and asks for nothing."""
    start_presenter(tmp_path, live=False).end()
    _open(page, (tmp_path / "deck.html").as_uri())
    _hint(page, "opened from a file")
    page.keyboard.press("Enter")
    _replays(page)
    _result(page, "Recorded")
    assert record.requests == [(tmp_path / "deck.html").as_uri()]
    assert record.problems == []


def test_a_page_of_another_site_cannot_start_a_run(page, presenter):
    """Even with the token, its fetches, forms, images and beacons change nothing: no request reaches the engine."""
    with _foreign_site(presenter) as address:
        page.goto(address)
        page.wait_for_function("document.title === 'tried'", timeout=PATIENCE_MS)
    assert list(presenter.folder.glob("body-*.json")) == []
    assert presenter.post("/live/run", {"demo": "one-request"}) == 202


@contextmanager
def _foreign_site(presenter: Presenter) -> Iterator[str]:
    attack = (Path(__file__).parents[1] / "helpers" / "foreign_page.html").read_text()
    body = attack.replace("ORIGIN", presenter.origin).replace("TOKEN", presenter.token).encode()

    class Site(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_arguments: object) -> None:
            """Keep quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Site) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()

"""A real Chromium, and a page that writes down everything it should not do."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip


@dataclass
class Record:
    """What a page did."""

    requests: list[str] = field(default_factory=list)
    """Addresses asked for, other than data that the page carries."""
    problems: list[str] = field(default_factory=list)
    """Console errors (a broken content policy is one), uncaught exceptions and dialogs."""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """The system's Chromium, started once a module; no longer, for its event loop would run under other tests."""
    if CHROMIUM is None:
        pytest.skip("needs Chromium; install it with: make test")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    """A fresh page of 1920 × 1080."""
    context = chromium.new_context(viewport={"width": 1920, "height": 1080})
    yield context.new_page()
    context.close()


@pytest.fixture
def record(page: Page) -> Record:
    """What the page does from now on."""
    record = Record()
    page.on("request", lambda r: None if r.url.startswith(("data:", "blob:")) else record.requests.append(r.url))
    page.on("console", lambda message: record.problems.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: record.problems.append(str(error)))
    page.on("dialog", lambda dialog: (record.problems.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    return record

"""A trace with markup in every text field goes through the real renderer into a page, and stays text."""

from __future__ import annotations

import pytest

from page_kit import HOSTILE
from spanreel.build import Order, build
from spanreel.report import Report
from trace_factory import MS, make_experiment, make_run, make_set

# The typefaces have no glyph for a line separator: on a drawn label it would be an error that names it.
DRAWN = HOSTILE.replace("\u2028", "")

pytestmark = [pytest.mark.slow, pytest.mark.browser]


def test_markup_in_every_text_of_a_trace_is_only_text_on_screen(page, record, tmp_path):
    """Machine, arm, prompt and answer hold markup; the film draws it, the page shows it, and nothing runs."""
    run = make_run(tokens=2, prefill_ns=200 * MS, decode_ns=60 * MS, text=HOSTILE)
    set_dir = make_set(tmp_path, make_experiment(run, label=DRAWN[:24]), label=DRAWN[:18])
    order = Order(set_dir, formats=("html",), quality="draft", out_dir=tmp_path / "out", cache_dir=tmp_path / "cache")
    built = build(order, Report(quiet=True))
    moved = (built.folder / "deck.html").rename(tmp_path / "it's, moved & <b>renamed.html")
    page.goto(moved.as_uri())
    for _ in range(16):
        page.keyboard.press("ArrowRight")
        page.wait_for_timeout(100)
    assert record.problems == []
    assert record.requests == [moved.as_uri()]
    assert page.evaluate("document.querySelectorAll('b').length") == 0

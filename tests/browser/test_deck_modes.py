"""The HTML deck's other modes in a real Chromium: inspect, overview, captions, notes window, screen readers."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from page_kit import make_page

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture(scope="module")
def deck_file(tmp_path_factory):
    """A deck of a demo and two clips of three pauses."""
    return make_page(tmp_path_factory.mktemp("deck"))


@pytest.fixture
def deck(page: Page, record, deck_file) -> Page:
    """The deck, open at the first clip."""
    page.goto(deck_file.as_uri() + "#/slide-a00")
    page.wait_for_selector(".reveal[data-ready]")
    yield page
    assert record.problems == []


def test_inspect_walks_the_spans_in_time_and_opens_them(deck):
    """Arrows go from measurement to measurement and stop at the ends; Enter tells name, duration and trace."""
    line, details = deck.locator(".inspect .line"), deck.locator(".inspect .details")
    deck.keyboard.press("i")
    expect(line).to_contain_text("end to end")
    for key, name in (("ArrowRight", "prefill"), ("ArrowRight", "decode"), ("ArrowRight", "decode")):
        deck.keyboard.press(key)
        expect(line).to_contain_text(name)
    deck.keyboard.press("ArrowLeft")
    deck.keyboard.press("Enter")
    expect(details).to_contain_text("prefill")
    expect(details).to_contain_text("500 ms")
    expect(details).to_contain_text("trace 01234567")
    expect(details).to_contain_text("r7/prefill/0")
    deck.keyboard.press("Escape")
    expect(details).to_be_hidden()
    deck.keyboard.press("i")
    expect(deck.locator(".inspect")).to_be_hidden()


def test_a_click_opens_the_span_under_it(deck):
    """The smallest mark under the pointer is the one that opens."""
    deck.keyboard.press("i")
    deck.mouse.click(900, 432)
    expect(deck.locator(".inspect .details .name")).to_have_text("decode")
    deck.mouse.click(500, 432)
    expect(deck.locator(".inspect .details .name")).to_have_text("prefill")


def test_slide_keys_leave_inspect_and_move_on(deck):
    """A clicker works whatever is open."""
    deck.keyboard.press("i")
    deck.keyboard.press("PageDown")
    deck.wait_for_selector('.reveal[data-pause="1"]')
    expect(deck.locator(".inspect")).to_be_hidden()


def test_the_overview_shows_each_slide_and_leads_to_it(deck):
    """O lays the slides out as a grid of last stills; a click goes there, to its first pause."""
    deck.keyboard.press("o")
    boxes = [section.bounding_box() for section in deck.locator(".slides > section").all()]
    assert len({(round(box["x"]), round(box["y"])) for box in boxes}) == 3
    assert all(box["width"] >= 480 for box in boxes)
    deck.locator("#slide-a18").click()
    deck.wait_for_selector('.reveal:not(.overview)[data-slide="slide-a18"][data-pause="0"][data-state="still"]')


def test_captions_follow_the_pauses_once_asked_for(deck):
    """C shows the words of the present step."""
    caption = deck.locator(".caption")
    expect(caption).to_be_hidden()
    deck.keyboard.press("c")
    expect(caption).to_have_text("a00 caption 0 words")
    deck.keyboard.press("PageDown")
    expect(caption).to_have_text("a00 caption 1 words")


def test_the_speaker_has_notes_in_a_window_of_their_own(deck):
    """S opens the notes; slide keys work there too, and the window follows."""
    with deck.expect_popup() as opened:
        deck.keyboard.press("s")
    notes = opened.value
    expect(notes.locator(".title")).to_contain_text("Title of slide-a00")
    expect(notes.locator(".note").first).to_have_text("Notes words")
    notes.keyboard.press("PageDown")
    deck.wait_for_selector('.reveal[data-slide="slide-a00"][data-pause="1"]')
    expect(notes.locator(".next")).to_have_text("Next: a00 caption 2 words")


def test_a_screen_reader_gets_headings_and_pictures_in_words(deck):
    """The slide is a document, not an application: a heading, a list, and a picture whose words follow the pause."""
    assert deck.locator('[role="application"]').count() == 0
    expect(deck.get_by_role("heading", name="Title of slide-a00 words")).to_be_attached()
    expect(deck.locator("#slide-a00 .still")).to_have_attribute("alt", "a00 alt 0 words")
    deck.keyboard.press("PageDown")
    expect(deck.locator("#slide-a00 .still")).to_have_attribute("alt", "a00 alt 1 words")


def test_the_live_panel_has_the_whole_slide_and_slide_keys_pass_it(deck):
    """The demo's element covers its slide; arrows, page keys and space still turn slides there."""
    deck.keyboard.press("ArrowLeft")
    deck.wait_for_selector('.reveal[data-slide="call"]')
    box = deck.locator("live-request").bounding_box()
    assert (box["width"], box["height"]) == (1920, 1080)
    for forward, back in (("ArrowRight", "ArrowLeft"), ("PageDown", "PageUp"), ("Space", "Shift+Space")):
        deck.keyboard.press(forward)
        deck.wait_for_selector('.reveal[data-slide="slide-a00"][data-state="still"]')
        deck.keyboard.press(back)
        deck.wait_for_selector('.reveal[data-slide="call"]')

"""The HTML deck in a real Chromium, from a file: nothing fetched, every key, every picture."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from page_kit import BRIGHT, HOSTILE, draw_clip, make_deck, make_page, make_twin
from spanreel.page import write_page

pytestmark = [pytest.mark.browser, pytest.mark.slow]

STEP_PX = 400  # how far the box of a test clip moves from pause to pause, on the 1920 px page
BOX_LEFT_PX = 80


@pytest.fixture(scope="module")
def deck_file(tmp_path_factory):
    """A deck of a demo and two clips of three pauses."""
    return make_page(tmp_path_factory.mktemp("deck"))


def _open(page: Page, file, address: str = "") -> None:
    page.goto(file.as_uri() + address)
    page.wait_for_selector(".reveal[data-ready]")


def _at(page: Page, slide: str, pause: int, state: str = "still") -> None:
    page.wait_for_selector(f'.reveal[data-slide="{slide}"][data-pause="{pause}"][data-state="{state}"]')


def _seen(page: Page) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(page.screenshot())).convert("RGB")).astype(int)


def _box_left_px(page: Page) -> int:
    """Where the blue box's left edge is seen."""
    row = _seen(page)[500]
    return int(np.argmax(row[:, 0] < BRIGHT / 2))


def test_a_renamed_deck_with_hostile_texts_opens_in_silence(page, record, tmp_path):
    """No dialog, no request, no broken policy; every word as it was, from a path full of odd characters."""
    folder = tmp_path / "it's a, “tëst” & 100%"
    file = make_page(folder, words=HOSTILE, clips=("a00",)).rename(folder / "renamed, déck's.html")
    _open(page, file)
    page.keyboard.press("PageDown")
    _at(page, "slide-a00", 0)
    page.keyboard.press("i")
    page.keyboard.press("Enter")
    assert page.locator("h2").text_content() == f"Title of slide-a00 {HOSTILE}"
    assert page.locator("#slide-a00 li").last.text_content() == f"a00 alt 2 {HOSTILE}"
    assert page.title().startswith('Title of call </script><script>alert(1)</script><!-- & "quotes"')
    assert record.problems == []
    assert record.requests == [file.as_uri()]


def test_next_plays_to_the_pause_and_next_again_jumps_to_it(page, record, deck_file):
    """A step forward moves; pressed again it ends the motion at once, and the still is what remains."""
    _open(page, deck_file, "#/slide-a00")
    page.keyboard.press("ArrowRight")
    _at(page, "slide-a00", 1, "moving")
    page.keyboard.press("ArrowRight")
    _at(page, "slide-a00", 1)
    page.keyboard.press("PageDown")
    _at(page, "slide-a00", 2, "moving")
    _at(page, "slide-a00", 2)
    assert _box_left_px(page) == pytest.approx(BOX_LEFT_PX + 2 * STEP_PX, abs=4)
    page.keyboard.press("Space")
    _at(page, "slide-a18", 0)
    assert record.problems == []


def test_a_motion_is_seen_to_move(page, deck_file):
    """Between two pauses the box stands between its two places."""
    _open(page, deck_file, "#/slide-a00")
    page.keyboard.press("PageDown")
    page.wait_for_selector("video.shown")
    places = {_box_left_px(page) for _ in range(4)}
    _at(page, "slide-a00", 1)
    assert any(BOX_LEFT_PX + 8 < place < BOX_LEFT_PX + STEP_PX - 8 for place in places)
    assert _box_left_px(page) == pytest.approx(BOX_LEFT_PX + STEP_PX, abs=4)


def test_previous_shows_the_still_before_at_once(page, deck_file):
    """Back from a pause, from the middle of a motion, and over a slide's beginning."""
    _open(page, deck_file, "#/slide-a00/1")
    page.keyboard.press("ArrowLeft")
    _at(page, "slide-a00", 1)
    assert _box_left_px(page) == pytest.approx(BOX_LEFT_PX + STEP_PX, abs=4)
    page.keyboard.press("ArrowRight")
    _at(page, "slide-a00", 2, "moving")
    page.keyboard.press("PageUp")
    _at(page, "slide-a00", 1)
    expect(page.locator("video.shown")).to_have_count(0)
    _open(page, deck_file, "#/slide-a18")
    page.keyboard.press("PageUp")
    _at(page, "slide-a00", 2)
    assert _box_left_px(page) == pytest.approx(BOX_LEFT_PX + 2 * STEP_PX, abs=4)


def test_a_reload_comes_back_to_the_same_slide_and_pause(page, deck_file):
    """The address holds slide and pause as soon as they change, also in the midst of a motion."""
    _open(page, deck_file, "#/slide-a18")
    page.keyboard.press("PageDown")
    _at(page, "slide-a18", 1, "moving")
    page.reload()
    _at(page, "slide-a18", 1)
    page.keyboard.press("PageUp")
    _at(page, "slide-a18", 0)
    page.reload()
    _at(page, "slide-a18", 0)


def test_no_transition_lets_the_dark_page_through(page, deck_file):
    """On bright slides no picture taken during steps forward, back or across slides shows the background."""
    _open(page, deck_file, "#/slide-a00")
    _at(page, "slide-a00", 0)
    darkest = 255.0
    for key in ("PageDown", "PageDown", "PageDown", "PageUp", "PageDown", "PageDown", "PageDown", "PageUp") * 3:
        page.keyboard.press(key)
        darkest = min(darkest, float(np.median(_seen(page))))
    assert darkest > BRIGHT - 8


def test_reduced_motion_shows_stills_only(page, deck_file):
    """Whoever asks the system for less motion gets the pause at once."""
    page.emulate_media(reduced_motion="reduce")
    _open(page, deck_file, "#/slide-a00")
    page.keyboard.press("PageDown")
    _at(page, "slide-a00", 1)
    assert page.locator("video[src]").count() <= 1
    expect(page.locator("video.shown")).to_have_count(0)


def test_a_film_that_cannot_be_played_leaves_the_still(page, tmp_path):
    """With a broken film the deck goes on from still to still."""
    folder = draw_clip(tmp_path / "a00", "a00")
    (folder / "segment_1.mp4").write_bytes(b"no film at all" * 400)
    write_page(tmp_path, make_deck("a00"), {"a00": folder}, make_twin(), tmp_path / "deck.html")
    _open(page, tmp_path / "deck.html", "#/slide-a00")
    page.keyboard.press("PageDown")
    _at(page, "slide-a00", 1)
    assert _box_left_px(page) == pytest.approx(BOX_LEFT_PX + STEP_PX, abs=4)


def test_a_slide_that_begins_in_motion_keeps_the_picture_before_it(page, tmp_path):
    """Before a film's first frame is there, neither the page nor the film's end is seen."""
    folders = {clip: draw_clip(tmp_path / clip, clip, first_frames=30) for clip in ("a00", "a18")}
    write_page(tmp_path, make_deck(*folders), folders, make_twin(), tmp_path / "deck.html")
    page.add_init_script("HTMLVideoElement.prototype.requestVideoFrameCallback = () => 0;")
    _open(page, tmp_path / "deck.html", "#/slide-a00/1")
    page.keyboard.press("PageDown")
    _at(page, "slide-a18", 0, "moving")
    assert _box_left_px(page) == pytest.approx(BOX_LEFT_PX + 2 * STEP_PX, abs=4)
    page.keyboard.press("PageDown")
    _at(page, "slide-a18", 0)
    assert _box_left_px(page) == pytest.approx(BOX_LEFT_PX, abs=4)


def test_every_still_fills_a_window_of_any_shape(page, deck_file):
    """The page keeps its shape and touches two opposite sides of the window."""
    for width, height in ((1280, 720), (1024, 768), (2560, 1080)):
        page.set_viewport_size({"width": width, "height": height})
        _open(page, deck_file, "#/slide-a00")
        box = page.locator("#slide-a00 .still").bounding_box()
        scale = min(width / 1920, height / 1080)
        assert box["width"] == pytest.approx(1920 * scale, rel=0.02)
        assert box["height"] == pytest.approx(1080 * scale, rel=0.02)

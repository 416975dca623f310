"""Text: placed by baseline and advance, in the deck's own fonts, or refused by name."""

from __future__ import annotations

import multiprocessing
import random
import string
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from scenes.render import fonts, masks
from scenes.render.errors import RenderEnvironmentError, RenderError, RenderInputError
from scenes.render.labels import Digits, Label
from scenes.render.metrics import TextStyle, measure

WHITE = "#FFFFFF"
TITLE = TextStyle("text", 64, 600, WHITE)
WORDS = [
    "Chunked prefill cuts a neighbour's worst gap from 2.9 s to 0.35 s",
    "AVAToWaYo fi ffi 3x4 -> => != 1x1",
    "31% −1.27 s, ×40 10\u2009000 µs → ≤ ≥ ≈ · “quotes”",
    "p50 < 20 ms & p99 > 3 <b>bold</b> </script> &amp;",
    "  spaces   inside  ",
]


def ink(label: Label) -> tuple[float, float, float, float]:
    """Return the box of a label's ink."""
    found = label.ink()
    assert found is not None
    return found[0]


def random_words(count: int) -> list[str]:
    """Return strings of printable ASCII."""
    source = random.Random(7)  # noqa: S311
    return ["".join(source.choices(string.printable[:94] + "  ", k=30)).strip() for _ in range(count)]


@pytest.mark.parametrize("style", [
    TextStyle("text", 44, 400, WHITE), TITLE, TextStyle("text", 64, 700, WHITE, tabular=True),
    TextStyle("text", 64, 600, WHITE, tracking_em=-0.012), TextStyle("mono", 36, 400, WHITE),
])  # fmt: skip
def test_ink_lies_where_the_font_says(manim_1080, style):
    """What Pango and Cairo draw begins and ends where the font's tables say, kerning included."""
    for text in WORDS + random_words(12):
        if fonts.missing_glyphs(text, style.font, style.weight):
            continue
        label = Label(text, 100, 500, style)
        expected = measure([(text, style)]).ink_px
        assert expected is not None
        for drawn, x_or_y in zip(ink(label), expected, strict=True):
            origin = 100 if x_or_y in expected[::2] else 500
            # A box of ink is in whole pixels, which alone can differ by 1.
            assert drawn - origin == pytest.approx(x_or_y, abs=1.2), text


def test_baseline_and_cap_height(manim_1080):
    """An H of 64 px Inter stands on its baseline, 0.727 × 64 px high."""
    _, y0, _, y1 = ink(Label("H", 100, 500, TITLE))
    assert y1 == pytest.approx(500, abs=1)
    assert y1 - y0 == pytest.approx(0.727 * 64, abs=1)


def test_anchors_use_the_advance(manim_1080):
    """Start, middle and end of the advance stand at x; trailing ink or spaces change nothing."""
    width = measure([("2.61 s ", TITLE)]).width_px
    start = ink(Label("2.61 s ", 900, 500, TITLE, "start"))
    middle = ink(Label("2.61 s ", 900 + width / 2, 500, TITLE, "middle"))
    end = ink(Label("2.61 s ", 900 + width, 500, TITLE, "end"))
    assert start == pytest.approx(middle, abs=1)
    assert start == pytest.approx(end, abs=1)


def test_runs_follow_one_another(manim_1080):
    """A label of two runs is as wide as both, and its second run begins where the first ends."""
    light = TextStyle("text", 44, 400, "#B8C2CF")
    bold = TextStyle("text", 44, 700, WHITE)
    both = Label([("gateway", bold), ("  8 ms", light)], 100, 500)
    first = Label("gateway", 100, 500, bold)
    second = Label("  8 ms", 100 + first.width_px, 500, light)
    assert both.width_px == pytest.approx(first.width_px + second.width_px)
    assert ink(both)[0] == ink(first)[0]
    assert ink(both)[2] == pytest.approx(ink(second)[2], abs=1)


def test_tabular_figures_are_equally_wide(fonts_dir):
    """With tabular figures 111 is as wide as 888; without, it is not."""
    narrow, wide = (measure([(text, TITLE)]).width_px for text in ("111", "888"))
    assert narrow < wide - 10
    tabular = TextStyle("text", 64, 600, WHITE, tabular=True)
    assert measure([("111", tabular)]).width_px == measure([("888", tabular)]).width_px


def test_digits_stand_in_fixed_cells(manim_1080):
    """Figures stay in cells of 0.58 em whatever they are; the point takes half a cell."""
    clock = Digits("8.88", 96, 500, TITLE)
    assert clock.width_px == pytest.approx(0.58 * 64 * 3.5)
    centres = []
    for text in ("8.88", "1.11"):
        clock.set_text(text)
        centres.append([piece.pen_px + piece.mask.left + piece.mask.alpha.shape[1] / 2 for piece in clock.pieces])
    assert np.abs(np.subtract(*centres)).max() < 4


def test_markup_characters_are_plain_text(manim_1080):
    """``<``, ``&`` and tags are drawn, not read: the text is as wide as its characters."""
    text = "<b>&</b>"
    label = Label(text, 100, 500, TITLE)
    width = sum(measure([(character, TITLE)]).width_px for character in text)
    assert label.width_px == pytest.approx(width, abs=12)
    assert ink(label)[2] - ink(label)[0] > 0.9 * width


@pytest.mark.parametrize("text", ["5 ms 🙂", "tab\there", "two\nlines", "漢字"])
def test_character_without_glyph_is_named(fonts_dir, text):
    """A character that the font lacks is an error that quotes the text and names the character."""
    with pytest.raises(RenderInputError) as caught:
        measure([(text, TITLE)])
    message = str(caught.value)
    assert repr(text) in message
    assert f"U+{ord(fonts.missing_glyphs(text, 'text', 600)[0]):04X}" in message
    assert caught.value.exit_code == 2


def test_unknown_weight_is_refused(fonts_dir):
    """A weight that was not converted is an error that lists those that were."""
    with pytest.raises(RenderError, match="no weight 300; weights: 400, 500, 600, 700"):
        measure([("x", TextStyle("text", 40, 300, WHITE))])


def test_missing_font_file_says_what_to_do(tmp_path):
    """Without the npm packages, the missing file is named, and the command that brings it."""
    with pytest.raises(RenderEnvironmentError, match=r"Inter-Regular\.woff2 is missing.*make deck") as caught:
        fonts.prepare_fonts(tmp_path / "node_modules", tmp_path / "fonts")
    assert caught.value.exit_code == 4
    assert not (tmp_path / "fonts").exists()


def test_unprepared_fonts_say_what_to_do(tmp_path):
    """Fonts that were never prepared are an error, not a fallback to the system's."""
    with pytest.raises(RenderEnvironmentError, match="make deck"):
        fonts.use_fonts(tmp_path)


def test_prepared_fonts_are_left_alone_and_repaired(fonts_dir):
    """A second preparation touches nothing; a face that was lost comes back the same."""
    node_modules = Path(__file__).parents[2] / "node_modules"
    face = fonts_dir / "Inter-Bold.ttf"
    before, stamp = face.read_bytes(), face.stat().st_mtime_ns
    fonts.prepare_fonts(node_modules, fonts_dir)
    assert face.stat().st_mtime_ns == stamp
    face.unlink()
    fonts.prepare_fonts(node_modules, fonts_dir)
    assert face.read_bytes() == before


@pytest.fixture
def label_cache(manim_1080, tmp_path):
    """An empty cache of masks, put out of use afterwards."""
    masks.keep_masks_in(tmp_path / "labels")
    masks._mask.cache_clear()
    yield tmp_path / "labels"
    masks._folder = None
    masks._mask.cache_clear()


def test_masks_come_back_from_the_cache(label_cache, monkeypatch):
    """A second process needs no rasterising: the mask on disk is the mask, in whatever colour it is asked for."""
    first = masks.mask("2.61 s", TITLE, 1.0)
    masks._mask.cache_clear()
    monkeypatch.setattr(masks, "_rasterise", None)
    again = masks.mask("2.61 s", TextStyle("text", 64, 600, "#000000"), 1.0)
    assert np.array_equal(first.alpha, again.alpha)
    assert (first.left, first.top) == (again.left, again.top)


@pytest.mark.parametrize("damage", ["truncated", "empty", "flipped", "other"])
def test_damaged_cache_file_is_made_again(label_cache, damage):
    """A cache file that is cut, empty, altered or something else is replaced by a whole one."""
    first = masks.mask("2.61 s", TITLE, 1.0)
    (path,) = label_cache.glob("*.mask")
    whole = path.read_bytes()
    spoilt = {
        "truncated": whole[:50],
        "empty": b"",
        "flipped": whole[:-1] + bytes([whole[-1] ^ 1]),
        "other": b"PNG" * 40,
    }
    path.write_bytes(spoilt[damage])
    masks._mask.cache_clear()
    again = masks.mask("2.61 s", TITLE, 1.0)
    assert np.array_equal(first.alpha, again.alpha)
    assert path.read_bytes() == whole


def fill_cache(fonts_dir: str, cache: str, media: str) -> list[int]:
    """Rasterise some words into a cache (in a process of its own) and return a sum of each."""
    from scenes.render.run import configure_manim
    from scenes.theme import load_theme

    fonts.use_fonts(Path(fonts_dir))
    theme = load_theme(Path(__file__).parents[2] / "slides" / "theme.toml")
    configure_manim(theme, 1080, Path(media))
    masks.keep_masks_in(Path(cache))
    return [int(masks.mask(f"{i} ms", TITLE, 1.0).alpha.astype(int).sum()) for i in range(12)]


@pytest.mark.slow
def test_two_processes_share_a_cache(fonts_dir, tmp_path):
    """Two processes that fill one cache at once get the same masks and leave only whole files."""
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        jobs = [
            pool.submit(fill_cache, str(fonts_dir), str(tmp_path / "labels"), str(tmp_path / f"media{i}"))
            for i in range(2)
        ]
        first, second = (job.result() for job in jobs)
    assert first == second
    assert {path.suffix for path in (tmp_path / "labels").iterdir()} == {".mask"}

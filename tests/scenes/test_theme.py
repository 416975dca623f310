"""The theme file: read whole, or refused by the name of what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from scenes.theme import load_theme

THEME_FILE = Path(__file__).parents[2] / "slides" / "theme.toml"


def test_the_deck_theme_is_read():
    """The committed theme has the page, the frame rate and a colour for each role."""
    theme = load_theme(THEME_FILE)
    assert (theme.page.width_px, theme.page.height_px, theme.motion.fps) == (1920, 1080, 30)
    assert theme.role["prefill"] != theme.role["decode"]


@pytest.mark.parametrize(("old", "new", "word"), [
    ("fps = 30", 'fps = "thirty"', "motion.fps"),
    ("axis = ", "axes = ", "axis"),
    ("[page]", "[page", "theme.toml"),
])  # fmt: skip
def test_a_faulty_theme_is_named(tmp_path, old, new, word):
    """A wrong type, a missing colour and a file that is no TOML are errors that name the place."""
    spoilt = tmp_path / "theme.toml"
    spoilt.write_text(THEME_FILE.read_text(encoding="utf-8").replace(old, new, 1), encoding="utf-8")
    with pytest.raises(ValueError, match=word) as caught:
        load_theme(spoilt)
    assert str(spoilt) in str(caught.value)

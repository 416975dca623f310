"""The HTML page as a file: what it carries, in which order, and how it is escaped."""

from __future__ import annotations

import base64
import html
import json
import re
import tomllib

import pytest

from page_kit import HOSTILE, draw_clip, make_deck, make_page, make_twin
from spanreel import paths
from spanreel.errors import EnvironmentLackError, SpanreelError
from spanreel.page import write_page
from traces.storage import digest


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A page whose every text field is hostile."""
    folder = tmp_path_factory.mktemp("page")
    return folder, make_page(folder, words=HOSTILE).read_text(encoding="utf-8")


def _block(text: str, block_id: str) -> str:
    return re.search(rf'<script type="application/json" id="{block_id}">(.*?)</script>', text)[1]


def test_the_page_carries_every_film_byte_for_byte(written):
    """Each segment of each clip stands in the page as one block of base64."""
    folder, text = written
    carried = {
        digest(base64.b64decode(block)) for block in re.findall(r'data-media-type="video/mp4">([^<]+)</script>', text)
    }
    assert carried == {digest(file.read_bytes()) for file in folder.glob("units/*/segment_*.mp4")}


def test_titles_and_first_stills_stand_before_scripts_and_films(written):
    """What is needed to see the first picture comes first in the file."""
    _, text = written
    films = text.index('type="text/plain"')
    assert text.index("<h1") < text.index('<img class="still"') < text.index("deck-data") < films
    assert text.rindex("data:font/woff2") < films


def test_no_text_of_the_deck_can_end_a_block_of_data(written):
    """The data blocks hold neither angle brackets nor ampersands, and read back as they were."""
    _, text = written
    for block_id in ("deck-data", "twin-one-request"):
        assert not re.search("[<>&\u2028\u2029]", _block(text, block_id))
    assert json.loads(_block(text, "twin-one-request")) == make_twin(HOSTILE)
    slides = json.loads(_block(text, "deck-data"))["slides"]
    assert [slide["title"] for slide in slides] == [
        slide.title for slide in make_deck("a00", "a18", words=HOSTILE).slides
    ]


def test_headings_and_alternatives_are_real_text(written):
    """One first-level heading, a second-level one for each other slide, and a picture's words in its list."""
    _, text = written
    assert re.findall(r"<(h[12]) ", text) == ["h1", "h2", "h2"]
    assert html.escape("a18 alt 2 " + HOSTILE, quote=False).replace('"', "&#34;").replace("'", "&#39;") in text
    assert "application" not in re.findall(r'role="(\w+)"', text)


def test_nothing_in_the_page_is_fetched(written):
    """No attribute or style points at another file or host."""
    _, text = written
    text = re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL)
    assert re.findall(r'(?:src|href|data-src|srcset|action)="(?!data:)[^"]*"', text) == []
    assert re.findall(r'url\((?!"?data:)[^)]*\)', text) == []


def test_every_theme_value_is_a_variable(written):
    """The style sheet knows each colour and measure of the theme by name."""
    _, text = written
    theme = tomllib.loads(paths.THEME.read_text(encoding="utf-8"))
    assert f"--role-prefill-edge: {theme['role']['prefill_edge']};" in text
    assert f"--size-title: {theme['size']['title_px']}px;" in text
    assert f'--font-mono: "{theme["font"]["mono"]}";' in text


def test_a_measurement_drawn_twice_is_one_stop_of_the_walk(tmp_path):
    """Inspect mode lists each binding once, in the order of time, in words."""
    text = make_page(tmp_path, clips=("a00",)).read_text(encoding="utf-8")
    marks = json.loads(_block(text, "deck-data"))["slides"][1]["pauses"][0]["marks"]
    assert [(mark["name"], mark["value"]) for mark in marks] == [
        ("end to end", "1.00 s"), ("prefill", "500 ms"), ("decode", "500 ms"),
    ]  # fmt: skip
    assert marks[1]["trace"] == "trace 01234567"


def test_the_same_deck_gives_the_same_bytes(tmp_path):
    """Writing twice changes nothing."""
    first = make_page(tmp_path / "one", clips=("a00",)).read_bytes()
    assert first == make_page(tmp_path / "two", clips=("a00",)).read_bytes()


def test_a_clip_without_films_is_a_page_of_stills(tmp_path):
    """Where only stills were drawn, every pause has its picture and none has a film."""
    folder = draw_clip(tmp_path / "a00", "a00")
    record = json.loads((folder / "clip.json").read_bytes())
    (folder / "clip.json").write_text(json.dumps(record | {"segments": []}))
    write_page(tmp_path, make_deck("a00"), {"a00": folder}, make_twin(), tmp_path / "deck.html")
    text = (tmp_path / "deck.html").read_text(encoding="utf-8")
    pauses = json.loads(_block(text, "deck-data"))["slides"][1]["pauses"]
    assert [pause["film"] for pause in pauses] == [None, None, None]
    assert "video/mp4" not in re.findall(r'data-media-type="([^"]+)"', text)


def test_a_missing_package_is_named_and_the_former_page_stays(tmp_path, monkeypatch):
    """Without reveal.js the message says what to run, and the page that was there is untouched."""
    folder = draw_clip(tmp_path / "a00", "a00")
    page = tmp_path / "deck.html"
    page.write_text("the former page")
    monkeypatch.setattr(paths, "NODE_MODULES", tmp_path / "nowhere")
    with pytest.raises(EnvironmentLackError, match=r"reveal\.js.*make deck"):
        write_page(tmp_path, make_deck("a00"), {"a00": folder}, make_twin(), page)
    assert page.read_text() == "the former page"


def test_a_broken_clip_is_named(tmp_path):
    """A ledger that cannot be read names its file and the next step."""
    folder = draw_clip(tmp_path / "a00", "a00")
    (folder / "clip.json").write_text("{")
    with pytest.raises(SpanreelError, match=r"clip\.json.*spanreel build"):
        write_page(tmp_path, make_deck("a00"), {"a00": folder}, make_twin(), tmp_path / "deck.html")

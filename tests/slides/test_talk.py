"""The talk's file: what is in it, and what it may not say."""

from __future__ import annotations

import pytest

from scenes.clips.registry import CLIPS
from slides.claims import CLAIMS
from slides.script import NOTES_DIR
from slides.talk import TALK_FILE, TalkError, load_talk

SLIDE = """
set = "some-set"
[[slide]]
id = "first"
part = "hook"
kind = "text"
title = "A title"
minutes = "1:30"
question = 0
"""


@pytest.fixture
def talk_file(tmp_path):
    """Return a function that writes a talk's file and returns its path."""

    def write(text: str):
        file = tmp_path / "talk.toml"
        file.write_text(text, encoding="utf-8")
        return file

    return write


def test_the_talk_begins_with_a_live_request_and_ends_with_the_recap():
    """The slides of the talk, in order, with what each shows."""
    slides = load_talk(TALK_FILE).slides
    assert [(slide.id, slide.kind, slide.clip or slide.demo) for slide in slides] == [
        ("call", "demo", "one-request"),
        ("grey-bar", "clip", "a00"),
        ("recap", "clip", "a18"),
    ]


def test_every_slide_has_a_title_notes_and_a_clip_that_exists():
    """Nothing that a slide refers to is missing."""
    for slide in load_talk().slides:
        assert (slide.title is None) == (slide.id in CLAIMS)
        assert (NOTES_DIR / f"{slide.id}.md").is_file()
        assert slide.clip is None or slide.clip in CLIPS


def test_minutes_are_read_as_minutes_and_seconds(talk_file):
    """1:30 is one and a half."""
    assert load_talk(talk_file(SLIDE)).slides[0].minutes == 1.5


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('id = "first"', 'id = "First slide"', "an id is lower-case words"),
        ('kind = "text"', 'kind = "film"', "kind 'film' is none of"),
        ('kind = "text"', 'kind = "clip"', "a clip slide, and no other, has the field 'clip'"),
        ('kind = "text"', 'kind = "text"\ndemo = "one-request"', "a demo slide, and no other"),
        ('minutes = "1:30"', "minutes = 1.5", "minutes are written m:ss"),
        ("question = 0", "question = 3", "question 3 is not 0, 1 or 2"),
        ("question = 0", "question = 0\ncolour = 1", "unexpected keyword argument 'colour'"),
        ('part = "hook"', "", "missing 1 required positional argument: 'part'"),
        ('minutes = "1:30"', "", "has no field 'minutes'"),
        ('title = "A title"', f'title = "{"x" * 96}"', "its title has 96 characters, 95 fit"),
        ("question = 0", 'question = 0\ntitles = ["last"]', "the title of 'last', which is no slide"),
        ('set = "some-set"', "", "a talk has a set"),
        ("[[slide]]", "[[slide]", "Expected"),
    ],
)
def test_a_talk_that_is_not_in_order_is_refused_with_the_reason(talk_file, old, new, complaint):
    """Each fault is named."""
    with pytest.raises(TalkError, match=r"talk\.toml") as refused:
        load_talk(talk_file(SLIDE.replace(old, new)))
    assert complaint in str(refused.value)


def test_two_slides_may_not_share_an_id(talk_file):
    """A repeated id is named."""
    repeated = SLIDE + SLIDE.replace('set = "some-set"', "")
    with pytest.raises(TalkError, match="two slides are called 'first'"):
        load_talk(talk_file(repeated))

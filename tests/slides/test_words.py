"""Speaker notes and the recorded twin: the trace's numbers, in words and as data."""

from __future__ import annotations

import json
import re

import pytest

from slides.script import NOTES_DIR, notes
from slides.talk import load_talk
from slides.twin import one_request
from trace_factory import make_experiment, make_run, make_set
from traces import load_set


@pytest.fixture(params=[16, 1], ids=["usual", "one token"])
def trace_set(request, tmp_path):
    """A hand-made set."""
    return load_set(make_set(tmp_path, make_experiment(make_run(tokens=request.param))))


def test_every_placeholder_of_the_notes_is_filled(trace_set):
    """No brace is left, and every note has a slide."""
    for slide in load_talk().slides:
        text = notes(slide.id, trace_set)
        assert text
        assert "{" not in text
    assert {file.stem for file in NOTES_DIR.iterdir()} == {slide.id for slide in load_talk().slides}


def test_the_notes_hold_no_typed_number():
    """Every digit comes from the trace."""
    for file in NOTES_DIR.glob("*.md"):
        typed = re.sub(r"\{\w+\}", "", file.read_text(encoding="utf-8"))
        assert not re.search(r"\d", typed), file.name


def test_a_slide_without_notes_has_empty_ones(trace_set):
    """Notes are not required."""
    assert notes("no-such-slide", trace_set) == ""


def test_verdicts_follow_the_tenth(tmp_path):
    """A stage from a tenth of the whole on is here; the others are not."""
    text = notes("recap", load_set(make_set(tmp_path)))
    assert "Prefill: 850 ms. Here." in text
    assert "Tokenizer and router: 1.2 ms. Not here today" in text


def test_the_twin_is_the_whole_path_of_the_request(trace_set):
    """Its spans touch from zero to the end, each in a lane or without a name; its tokens carry their texts."""
    twin = one_request(trace_set)
    assert json.loads(json.dumps(twin)) == twin
    now = 0
    for span in twin["spans"]:
        assert span["start_ns"] == now
        now += span["duration_ns"]
    assert now == twin["e2e_ns"]
    assert {span["component"] for span in twin["spans"]} <= {lane["component"] for lane in twin["lanes"]}
    assert twin["tokens"][0]["t_ns"] == twin["ttft_ns"]
    assert {token["text"] for token in twin["tokens"]} == {"tok"}
    assert twin["hash"] == trace_set.short_hash("e23")


def test_waits_are_hatched_and_the_lanes_name_the_processor(tmp_path):
    """The queue waits; the model's lane says CPU where no GPU was measured."""
    twin = one_request(load_set(make_set(tmp_path)))
    assert {span["pattern"] for span in twin["spans"] if span["name"] == "queue"} == {"wait"}
    assert {span["pattern"] for span in twin["spans"] if span["name"] == "prefill"} == {"solid"}
    assert [lane["name"] for lane in twin["lanes"]] == [
        "Client", "Gateway", "Tokenizer", "Router", "Queue", "Model (CPU)", "Stream",
    ]  # fmt: skip

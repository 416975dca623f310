"""Figures of a benchmark: complete records, right ratios, and none that is left out because it missed."""

from __future__ import annotations

import pytest

from demo_engine.bench.figures import Figure, Target, not_measured, table

KEYS = ["figure", "value", "unit", "baseline", "baseline_value", "ratio", "target", "met"]


def test_a_record_has_every_key_also_without_baseline_and_target():
    """What is not there is null; the keys and their order never change."""
    bare = Figure("event_us", 0.31, "µs").record()
    assert list(bare) == KEYS
    assert bare == dict.fromkeys(KEYS) | {"figure": "event_us", "value": 0.31, "unit": "µs"}


def test_a_ratio_is_value_over_baseline():
    """Fifteen tokens a second beside ten are one and a half times as many, to four digits."""
    assert Figure("a", 15, "tokens/s", "b", 10).record()["ratio"] == 1.5
    assert Figure("a", 1, "tokens/s", "b", 3).record()["ratio"] == 0.3333


@pytest.mark.parametrize(
    ("target", "value", "baseline_value", "met"),
    [
        (Target(150, "at most"), 150, None, True),
        (Target(150, "at most"), 151, None, False),
        (Target(1.5, "at least", of="ratio"), 15, 10, True),
        (Target(1.5, "at least", of="ratio"), 14.9, 10, False),
        (Target(1.5, "at most", of="ratio"), 30, 20, True),
        (Target(1.5, "at most", of="ratio"), 31, 20, False),
        (Target(200, "around", tolerance=20), 180, 200, True),
        (Target(200, "around", tolerance=20), 221, 200, False),
        (Target(200, "around", tolerance=20), 179, 200, False),
        (Target(1.5, "at least", of="ratio"), 15, None, None),
    ],
)
def test_a_target_is_about_the_value_or_about_the_ratio(target, value, baseline_value, met):
    """The bounds themselves are met; without a baseline a ratio cannot be."""
    assert Figure("f", value, "unit", "b", baseline_value, target).record()["met"] is met


def test_a_figure_that_could_not_be_measured_keeps_its_place_and_says_why():
    """It has its name and target, no value, and is neither met nor missed."""
    record = not_measured("fp32_single", "tokens/s", "no transformers here", Target(1.1, "at least")).record()
    assert list(record) == KEYS
    assert (record["value"], record["met"], record["target"]) == (None, None, 1.1)
    assert record["baseline"] == "not measured: no transformers here"


def test_the_table_shows_met_missed_and_not_measured_alike():
    """Each figure has its line, in order, with its outcome; each baseline is explained once, by its first figure."""
    figures = [
        Figure("fast", 20, "tokens/s", "generate", 10, Target(1.5, "at least", of="ratio")),
        Figure("slow", 9, "tokens/s", "generate", 10, Target(1.1, "at least", of="ratio")),
        not_measured("peer", "tokens/s", "not installed"),
        Figure("planted", 190, "µs", target=Target(200, "around", tolerance=20)),
    ]
    _, fast, slow, peer, planted, empty, *notes = table(figures)
    assert fast.split() == ["fast", "20", "tokens/s", "10", "2.00×", "≥", "1.5", "×", "baseline:", "met"]
    assert slow.endswith("≥ 1.1 × baseline: missed")
    assert peer.split() == ["peer", "tokens/s"]
    assert planted.endswith("200 ± 20 µs: met")
    assert empty == ""
    assert notes == ["fast: generate", "peer: not measured: not installed"]

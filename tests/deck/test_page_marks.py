"""What inspect mode says about a mark."""

from __future__ import annotations

import pytest

from scenes.ledger import Mark, Pause, Source
from spanreel.page_marks import inspectable, spoken_name

SOURCE = Source("hook", "e23", "A", 3, "r7", "0123456789abcdef" * 4)


def _mark(binding: str, start_ns: int, duration_ns: int, width: float, **other) -> Mark:
    fields = {"id": f"{binding}@{width}", "kind": "bar", "y0_px": 400.0, "y1_px": 464.0, "colour": "#000000"} | other
    return Mark(
        binding=binding,
        source="hook",
        axis="main",
        start_ns=start_ns,
        duration_ns=duration_ns,
        x0_px=400.0,
        x1_px=400.0 + width,
        **fields,
    )


def _stops(*marks: Mark) -> list[dict]:
    pause = Pause("p", "still.png", "0" * 64, [], list(marks), [], "", "")
    return inspectable(pause, {"hook": SOURCE})


@pytest.mark.parametrize(
    ("binding", "words"),
    [
        ("r7/prefill/0", "prefill"),
        ("r7/e2e", "end to end"),
        ("r7/ttft", "time to first token"),
        ("r7/token/4", "token 5 received"),
        ("r7/stages/client+network", "client + network"),
        ("r7/before/prefill", "before prefill"),
        ("r7/mean/decode", "mean decode"),
    ],
)
def test_a_binding_is_said_in_a_readers_words(binding, words):
    """Spans go by their name, metrics by what they mean."""
    assert spoken_name(binding) == words


def test_stops_stand_in_the_order_of_time_and_the_whole_before_its_parts():
    """Of two that begin together the longer comes first."""
    stops = _stops(_mark("r7/decode/0", 850, 100, 10), _mark("r7/prefill/0", 0, 850, 85), _mark("r7/e2e", 0, 950, 95))
    assert [stop["name"] for stop in stops] == ["end to end", "prefill", "decode"]


def test_the_largest_readable_mark_stands_for_its_measurement():
    """A bar in the lens is easier to hit than the same bar, or a caret, on the main axis; separators are nothing."""
    stops = _stops(
        _mark("r7/encode/0", 0, 400_000, 0.2, readable=False),
        _mark("r7/encode/0", 0, 400_000, 96),
        _mark("r7/encode/0", 0, 400_000, 200, kind="marker", readable=False),
        _mark("r7/encode/0", 0, 0, 300, kind="separator"),
    )
    assert [stop["box"] for stop in stops] == [[400.0, 400.0, 496.0, 464.0]]


def test_a_stop_tells_duration_place_and_trace():
    """Durations read as they do on screen; the trace's hash, run and span are named."""
    (stop,) = _stops(_mark("r7/prefill/0", 65_000_000, 850_000_000, 85))
    assert (stop["value"], stop["time"]) == ("850 ms", "from 65 ms to 0.92 s")
    assert (stop["trace"], stop["where"]) == ("trace 01234567", "e23 A · run 3 · r7/prefill/0")


def test_an_instant_tells_when_it_was():
    """What has no duration is given its time."""
    (stop,) = _stops(_mark("r7/token/0", 915_700_000, 0, 4, kind="hairline"))
    assert (stop["value"], stop["time"]) == ("0.92 s", "at 0.92 s")

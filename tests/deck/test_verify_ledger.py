"""What verify checks before it looks at a picture: bindings, coverage, words, layout, digests."""

from __future__ import annotations

import base64
from pathlib import Path

import msgspec
import pytest

from scenes.ledger import Axis, Clip, Mark, Pause, Segment, Source, Text, Tick, Value
from spanreel.verify.bound import coverage_faults, resolve_marks
from spanreel.verify.faults import Fault
from spanreel.verify.hashes import embedded_faults
from spanreel.verify.motion import SegmentWatch
from spanreel.verify.stated_motion import stated_factor
from spanreel.verify.subjects import find_subjects
from spanreel.verify.words import contrast, label_faults, layout_faults
from trace_factory import make_experiment, make_run, make_set
from traces import TraceSet, load_set
from traces.storage import digest

AXIS = Axis("main", "main", 384, 1824, 900, 902, 910, [Tick(0, 384), Tick(3_000_000_000, 1824)], "#7A869A")
TEXT = Text("t", "a text", "a text", [], "", (100, 100, 300, 140), 44, "#F2F5F9", "#0E1117", 17.0, "t.png")


@pytest.fixture
def trace_set(tmp_path) -> TraceSet:
    """A request of two tokens."""
    return load_set(make_set(tmp_path, make_experiment(make_run(tokens=2))))


def clip_of(trace_set: TraceSet, marks: list[Mark], texts: list[Text] | None = None) -> Clip:
    """Return a clip of one picture."""
    source = Source("A", "e23", "A", 0, "r7", trace_set.sha256["e23"])
    pause = Pause("p", "still_0.png", "", [AXIS], marks, texts or [], "", "")
    return Clip(1, "a00", "0" * 64, 1920, 1080, 30, [source], [pause], [])


def bars_of(trace_set: TraceSet) -> list[Mark]:
    """Return one bar for each span of the path, in one row."""
    clip = clip_of(trace_set, [])
    subjects, _ = find_subjects(clip, trace_set)
    return [
        Mark(s.id, "bar", s.id, "A", "main", s.start_ns, s.duration_ns, 0, 0, 200, 256, "#5CC3F5")
        for s in subjects["A"].path
    ]


def ledger_faults(clip: Clip, trace_set: TraceSet) -> list[Fault]:
    """Return what is wrong with bindings and coverage."""
    subjects, faults = find_subjects(clip, trace_set)
    return faults + resolve_marks(clip.pauses[0], subjects)[1] + list(coverage_faults(clip, subjects))


def words_faults(trace_set: TraceSet, text: Text) -> list[Fault]:
    """Return what is wrong with the words of one text."""
    clip = clip_of(trace_set, [], [text])
    subjects, _ = find_subjects(clip, trace_set)
    return list(label_faults(clip.pauses[0], clip, subjects, trace_set))


def test_a_bar_for_each_span_is_right(trace_set) -> None:
    """The whole path, each span once, as the trace has it."""
    assert ledger_faults(clip_of(trace_set, bars_of(trace_set)), trace_set) == []


def test_a_span_left_out_is_named(trace_set) -> None:
    """One bar less, one missing span."""
    bars = [bar for bar in bars_of(trace_set) if bar.id != "r7/sample/1"]
    found = ledger_faults(clip_of(trace_set, bars), trace_set)
    assert {(fault.kind, fault.mark) for fault in found} == {("missing", "r7/sample/1")}


def test_a_span_drawn_twice_in_a_row_is_named(trace_set) -> None:
    """The same binding under another id is a second bar; in another row it is allowed."""
    bars = bars_of(trace_set)
    again = msgspec.structs.replace(bars[10], id="again")
    assert [fault.mark for fault in ledger_faults(clip_of(trace_set, [*bars, again]), trace_set)] == ["again"]
    elsewhere = msgspec.structs.replace(again, y0_px=300, y1_px=356)
    assert ledger_faults(clip_of(trace_set, [*bars, elsewhere]), trace_set) == []


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"duration_ns": 1}, "lasts 1 ns"),
        ({"start_ns": 7}, "starts at 7 ns"),
        ({"binding": "r7/decode/99"}, "names nothing"),
        ({"binding": "r8/decode/0"}, "names request 'r8'"),
        ({"source": "B"}, "source 'B' is unknown"),
    ],
)
def test_a_mark_that_says_something_else_than_the_trace_is_named(trace_set, change, found) -> None:
    """Each field of the claim is held to what its binding resolves to."""
    bars = bars_of(trace_set)
    bars[12] = msgspec.structs.replace(bars[12], **change)
    faults = [f for f in ledger_faults(clip_of(trace_set, bars), trace_set) if f.kind == "binding"]
    assert any(found in fault.found for fault in faults)


def test_a_clip_drawn_from_another_trace_is_stale(trace_set) -> None:
    """The digest in the clip's source is compared with the set's."""
    clip = clip_of(trace_set, [])
    clip = msgspec.structs.replace(clip, sources=[msgspec.structs.replace(clip.sources[0], sha256="0" * 64)])
    assert [fault.kind for fault in ledger_faults(clip, trace_set)] == ["stale"]


def test_a_text_is_filled_again_from_the_trace(trace_set) -> None:
    """The right number passes, another one does not."""
    value = Value("r7/prefill/0", "A", "stage")
    right = msgspec.structs.replace(TEXT, text="prefill 850 ms", template="prefill {0}", values=[value])
    assert words_faults(trace_set, right) == []
    wrong = msgspec.structs.replace(right, text="prefill 849 ms")
    assert [fault.expected for fault in words_faults(trace_set, wrong)] == ["'prefill 850 ms'"]


@pytest.mark.parametrize("text", ["850 ms", "a factor of 3", "×40"])
def test_a_number_that_is_typed_is_found(trace_set, text) -> None:
    """A number in the fixed part of a text has no measurement behind it."""
    assert (
        "bound to nothing" in words_faults(trace_set, msgspec.structs.replace(TEXT, text=text, template=text))[0].found
    )


@pytest.mark.parametrize("text", ["E2E", "(N − 1) ×", "n=1", "Test model", "0", "median E2E of n=1", "real time, ×1"])
def test_a_number_that_states_no_measurement_passes(trace_set, text) -> None:
    """Names, formulas, sample sizes of the trace, and the replay's factor, which the motion is held to."""
    assert words_faults(trace_set, msgspec.structs.replace(TEXT, text=text, template=text)) == []


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"size_px": 28}, "28 px"),
        ({"colour": "#5A6270"}, "contrast"),
        ({"box_px": (40, 100, 300, 140)}, "its ink spans"),
        ({"box_px": (1700, 100, 1900, 140)}, "its ink spans"),
        ({"box_px": (100, 1060, 300, 1090)}, "its ink spans"),
    ],
)
def test_a_text_that_cannot_be_read_is_a_text_fault(change, found) -> None:
    """Too small, too faint, or off the page."""
    pause = Pause("p", "", "", [AXIS], [], [msgspec.structs.replace(TEXT, **change)], "", "")
    assert [found in fault.found for fault in layout_faults(pause)] == [True]


def test_texts_on_top_of_one_another_are_a_text_fault() -> None:
    """Boxes that share ink; boxes that touch do not."""
    over = msgspec.structs.replace(TEXT, id="over", box_px=(290, 120, 400, 160))
    beside = msgspec.structs.replace(TEXT, id="beside", box_px=(300, 100, 400, 119))
    assert len(list(layout_faults(Pause("p", "", "", [AXIS], [], [TEXT, over], "", "")))) == 1
    assert list(layout_faults(Pause("p", "", "", [AXIS], [], [TEXT, beside], "", ""))) == []


@pytest.mark.parametrize(("first", "second", "ratio"), [("#FFFFFF", "#000000", 21), ("#777777", "#FFFFFF", 4.48)])
def test_contrast_is_that_of_wcag(first, second, ratio) -> None:
    """Two pairs with published ratios; the order does not matter."""
    assert contrast(first, second) == contrast(second, first) == pytest.approx(ratio, abs=0.01)


@pytest.mark.parametrize(
    ("words", "factor"), [("real time, ×1", 1), ("×10 speed", 10), ("1/5 speed", 0.2), ("x", None)]
)
def test_the_printed_replay_factor_is_read(words, factor) -> None:
    """All three ways in which the film prints it."""
    assert stated_factor(words) == factor


def test_a_bar_that_changes_without_a_motion_is_a_motion_fault(trace_set) -> None:
    """Between two pictures a bar may only change its edges by a motion in the ledger."""
    bar = bars_of(trace_set)[10]
    longer = msgspec.structs.replace(bar, x1_px=500)
    before, after = (Pause("p", "", "", [AXIS], [mark], [], "", "") for mark in (bar, longer))
    watch = SegmentWatch(Segment("s.mp4", "", 10, [], ""), before, after, 30)
    assert [fault.kind for fault in watch.faults()] == ["motion"]


def test_a_page_must_carry_every_segment(trace_set, tmp_path: Path) -> None:
    """A segment that was exchanged inside the page is named."""
    film = bytes(range(256)) * 64
    clip = clip_of(trace_set, [])
    segments = [Segment("s0.mp4", digest(film), 1, [], ""), Segment("s1.mp4", digest(film + b"x"), 1, [], "")]
    clip = msgspec.structs.replace(clip, segments=segments)
    page = tmp_path / "deck.html"
    script = b'<script type="text/plain" data-file="a00/s%d.mp4">%s</script>'
    page.write_bytes(b"\n".join(script % (index, base64.b64encode(film)) for index in (0, 1)))
    assert [fault.expected for fault in embedded_faults(page, [clip])] == [segments[1].sha256[:12]]

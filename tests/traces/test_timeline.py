"""The timeline of text: to scale, from zero, and nothing that was measured goes missing."""

from __future__ import annotations

import dataclasses

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from trace_factory import MS, US, make_experiment, make_run
from traces.bindings import Subject
from traces.metrics import e2e_ns
from traces.schema import Run, Tokens
from traces.timeline import CARET, GLYPHS, Timeline, timeline
from traces.wording import total

CELLS = 56
BARS = set(GLYPHS.values())


def subject_of(run: Run) -> Subject:
    """Return the run's subject."""
    return Subject.exemplar(make_experiment(run), "A")


def lanes(drawn: Timeline) -> dict[str, str]:
    """Return the cells by component."""
    return {lane.component: lane.cells for lane in drawn.lanes}


@given(
    tokens=st.integers(1, 8),
    prefill=st.integers(1, 10**9),
    decode=st.integers(1, 10**9),
    queue=st.integers(MS, 10**9),
    small=st.integers(1, 10**8),
    num_cells=st.integers(20, 140),
)
def test_every_lane_is_to_scale(tokens: int, prefill: int, decode: int, queue: int, small: int, num_cells: int) -> None:
    """All rows are as long as asked, a lane's bar is as long as its spans to a cell a span, and no lane is empty."""
    subject = subject_of(make_run(tokens=tokens, prefill_ns=prefill, decode_ns=decode, queue_ns=queue, small_ns=small))
    drawn = timeline(subject, num_cells)
    assert {len(row) for row in (drawn.tick_labels, drawn.ruler, drawn.first_token)} == {num_cells}
    assert sum(lane.sum_ns for lane in drawn.lanes) == e2e_ns(subject.path)
    for lane in drawn.lanes:
        assert len(lane.cells) == num_cells
        assert lane.cells.strip()
        num_spans = sum(span.component == lane.component for span in subject.path)
        num_drawn = sum(cell in BARS for cell in lane.cells)
        assert abs(num_drawn * drawn.cell_ns - lane.sum_ns) <= num_spans * drawn.cell_ns


def test_bars_stand_where_the_spans_are() -> None:
    """A quarter of waiting and three quarters of prefill meet at a quarter of the row."""
    run = make_run(tokens=1, queue_ns=1_000 * MS, prefill_ns=3_000 * MS, small_ns=1, sample_ns=1, loop_ns=1)
    rows = lanes(timeline(subject_of(run), 40))
    assert rows["queue"].startswith(GLYPHS["wait"] * 10 + " ")
    assert rows["model"] == " " * 10 + GLYPHS["cpu"] * 30


def test_what_is_narrower_than_a_cell_has_a_caret_and_its_duration() -> None:
    """At the start the words stand to its right, at the end to its left."""
    rows = lanes(timeline(subject_of(make_run(small_ns=300 * US)), CELLS))
    assert rows["gateway"].rstrip() == f"{CARET} 300 µs"
    assert rows["stream"].endswith(f"900 µs {CARET}")
    assert rows["network"].startswith(f"{CARET} 600 µs ")
    assert rows["network"].endswith(f" 300 µs {CARET}")


def test_many_carets_carry_no_words() -> None:
    """Where a lane has one for each token, its sum at the end of the row has to do."""
    cells = lanes(timeline(subject_of(make_run(tokens=8)), CELLS))["sampler"]
    assert set(cells) == {" ", CARET}
    assert cells.count(CARET) == 8


def test_the_axis_begins_with_zero_and_has_a_unit() -> None:
    """Ticks are at least ten cells apart, and each label begins at its tick."""
    drawn = timeline(subject_of(make_run()), CELLS)
    ticks = [index for index, cell in enumerate(drawn.ruler) if cell == "┬"]
    assert drawn.tick_labels.split("  ")[0] == "0"
    assert [drawn.tick_labels[tick:].split("  ")[0] for tick in ticks] == ["0", "0.5 s", "1.0 s", "1.5 s", "2.0 s"]
    assert all(tick == int(index * 0.5e9 / drawn.cell_ns) for index, tick in enumerate(ticks))


def test_short_requests_are_drawn_in_milliseconds() -> None:
    """The unit follows the request."""
    run = make_run(tokens=2, queue_ns=31 * MS, prefill_ns=20 * MS, decode_ns=10 * MS)
    assert timeline(subject_of(run), CELLS).tick_labels.split() == ["0", "20", "ms", "40", "ms", "60", "ms"]


def test_the_first_token_is_marked() -> None:
    """Its caret stands in the cell in which the client received it; without a token the row is blank."""
    subject = subject_of(make_run())
    drawn = timeline(subject, CELLS)
    received_ns = subject.request.tokens.recv_gap_ns[0]
    assert drawn.first_token.index(CARET) == int(received_ns / drawn.cell_ns)
    assert total(received_ns) in drawn.first_token
    no_token = msgspec.structs.replace(subject.request, num_output_tokens=0, tokens=Tokens())
    assert not timeline(dataclasses.replace(subject, request=no_token), CELLS).first_token.strip()

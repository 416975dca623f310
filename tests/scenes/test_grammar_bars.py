"""Bars are exact, slivers keep their width, and bars that touch are parted."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from scenes.grammar.bars import THIN_PX, path_bars, separators
from scenes.grammar.dimension import dimension, place_label
from scenes.grammar.lens import head_spans, open_lens
from scenes.grammar.scale import round_scale
from scenes.grammar.stages import LANES, lane_of, model_lane_name, stages
from trace_factory import MS, US, make_experiment, make_run
from traces.bindings import Subject


def subject(**settings) -> Subject:
    """Return the exemplar of a synthetic experiment."""
    return Subject.exemplar(make_experiment(make_run(**settings)), "A")


def test_the_bars_of_a_path_cover_the_request_without_gap_or_overlap():
    """The first bar starts at 0, each starts where the one before ends, the last ends at the end."""
    one = subject()
    scale = round_scale(one.path[-1].end_ns)
    bars = path_bars(one.path, scale)
    assert bars[0].x0_px == scale.x(0)
    assert all(before.x1_px == after.x0_px for before, after in itertools.pairwise(bars))
    assert bars[-1].x1_px == scale.x(one.resolve("r7/e2e").value)


def test_a_sliver_keeps_its_true_width_and_is_called_thin():
    """0.4 ms at 600 px/s is a quarter of a pixel, and stays one."""
    one = subject()
    bars = path_bars(one.path, round_scale(one.path[-1].end_ns))
    prepare = next(bar for bar in bars if bar.span.name == "prepare")
    assert prepare.thin
    assert abs(prepare.width_px - 0.24) < 1e-9


def test_every_pair_of_readable_bars_that_touch_has_one_separator():
    """Queue, prefill and sixteen tokens in one row need sixteen separators."""
    one = subject()
    bars = path_bars(one.path, round_scale(one.path[-1].end_ns))
    readable = [bar for bar in bars if not bar.thin]
    assert len(separators(bars)) == len(readable) - 1
    assert all(bar.width_px >= THIN_PX for bar in readable)


def test_stages_sum_to_the_whole():
    """No span is lost or counted twice when spans are grouped."""
    one = subject()
    assert sum(stage.duration_ns for stage in stages(one.path)) == one.path[-1].end_ns


def test_every_named_span_has_a_lane():
    """Only what is unattributed has none."""
    assert all((lane_of(span) is None) == (span.name == "unattributed") for span in subject().path)
    assert len(LANES) == 7


def test_the_models_lane_is_called_gpu_only_on_a_gpu_clock():
    """A trace of a CPU says so."""
    assert model_lane_name(subject().path) == "Model (CPU)"


@given(st.integers(20 * US, 2 * MS), st.integers(2 * MS, 400 * MS))
def test_the_lens_shows_all_that_happens_before_the_queue(small_ns, decode_ns):
    """Its window is wider than its stages, its factor whole and exactly its scale over the axis's."""
    one = subject(small_ns=small_ns, decode_ns=decode_ns)
    main = round_scale(one.path[-1].end_ns)
    lens = open_lens(one.path, main, 384, 960)
    head_end_ns = head_spans(one.path)[-1].end_ns
    if head_end_ns > 0.05 * one.path[-1].end_ns:
        assert lens is None
    else:
        assert lens is not None
        assert lens.window_ns >= head_end_ns
        assert lens.factor == int(lens.factor)
        assert abs(lens.scale.px_per_ns / main.px_per_ns - lens.factor) < 1e-6


@given(st.floats(384, 1800), st.floats(0, 1000), st.floats(40, 700))
def test_a_dimension_label_never_covers_its_line_or_leaves_the_page(x0, width, label_px):
    """The label stands in the gap of the line, or outside of it."""
    x1 = min(1824.0, x0 + width)
    found = dimension(x0, x1, label_px, 96, 1824)
    label = (found.label_x0_px, found.label_x0_px + label_px)
    assert label[0] >= 96
    if found.place != "left":
        assert label[1] <= 1824
    if found.place == "inside":
        assert all(b <= label[0] - 19.9 or a >= label[1] + 19.9 for a, b in found.strokes)


def test_a_label_goes_inside_then_right_then_left():
    """The first place that fits is taken."""
    assert place_label(400, 900, 300, 96, 1824) == ("inside", 500)
    assert place_label(400, 500, 300, 96, 1824) == ("right", 518)
    assert place_label(1700, 1800, 300, 96, 1824) == ("left", 1382)

"""The clips stand on any trace: what they draw is bound, inside the page, and the recap begins where the hook ends."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path

import msgspec
import pytest

from scenes import ledger
from scenes.grammar.scale import PLOT_X0_PX
from scenes.job import RenderJob
from trace_factory import MS, US, make_experiment, make_run, make_set
from traces import Run, load_set
from traces.bindings import Subject
from traces.wording import FORMATS

ROOT = Path(__file__).parents[2]
TITLES = {
    "call": "You call an LLM API. What happens before the first token?",
    "grey-bar": "2.36 s for 16 tokens. Where did it go?",
    "recap": "Where 2.36 s went: decode 1.43 s, prefill 0.85 s, all else 0.08 s",
}
MAGNITUDES = {
    "usual": {},
    "fast": {
        "decode_ns": 3 * MS, "prefill_ns": 12 * MS, "queue_ns": MS, "small_ns": 50 * US, "sample_ns": 100 * US,
        "loop_ns": 20 * US, "tokens": 64,
    },
    "slow": {"decode_ns": 300 * MS, "prefill_ns": 8_000 * MS, "queue_ns": 4_000 * MS},
    "one-token": {"tokens": 1},
    "crowded": {"tokens": 600, "decode_ns": 3 * MS},
    "narrow-prefill": {"prefill_ns": 510 * MS, "decode_ns": 64 * MS, "tokens": 24, "queue_ns": 30 * MS},
    "slow-connection": {"small_ns": 200 * US, "connect_ns": 6 * MS},
    "no-lens": {"small_ns": 30 * MS},
}  # fmt: skip

GROUND = "whole/e2e"
"""The grey bar, once it lies below its own pieces."""

pytestmark = pytest.mark.slow


def make_runs(magnitude: str) -> list[Run]:
    """Return the run of a magnitude; of the unsteady one seven, whose odd and even ones disagree."""
    if magnitude == "unsteady":
        return [make_run(decode_ns=(95 if number % 2 else 160) * MS) for number in range(7)]
    return [make_run(**MAGNITUDES[magnitude])]


@pytest.fixture(scope="module")
def rendered(fonts_dir, tmp_path_factory):
    """Return a function that draws the stills of a clip from a set of some magnitude, once."""
    labels = tmp_path_factory.mktemp("labels")

    @cache
    def render(clip: str, magnitude: str) -> tuple[Path, ledger.Clip, Path]:
        folder = tmp_path_factory.mktemp(f"{clip}-{magnitude}")
        trace_set = make_set(folder, make_experiment(*make_runs(magnitude)))
        job = RenderJob(
            clip, str(trace_set), str(ROOT / "slides" / "theme.toml"), str(fonts_dir), str(labels),
            str(folder / "out"), TITLES, "stills",
        )  # fmt: skip
        (folder / "out").mkdir()
        (folder / "job.json").write_bytes(msgspec.json.encode(job))
        run = [sys.executable, "-m", "scenes.render", str(folder / "job.json")]
        done = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        clip_file = (folder / "out" / "clip.json").read_bytes()
        return folder / "out", msgspec.json.decode(clip_file, type=ledger.Clip), trace_set

    return render


both_clips = pytest.mark.parametrize("clip", ["a00", "a18"])
every_magnitude = pytest.mark.parametrize("magnitude", list(MAGNITUDES))


@both_clips
@every_magnitude
def test_every_mark_and_number_is_what_the_trace_says(rendered, clip, magnitude):
    """A mark's start and duration, and each quoted value, resolve again from the trace; text is its filled template."""
    _, drawn, set_dir = rendered(clip, magnitude)
    subject = Subject.exemplar(load_set(set_dir).experiment("e23"), "A")
    for pause in drawn.pauses:
        for mark in pause.marks:
            measured = subject.resolve(mark.binding)
            if mark.kind != "separator":
                assert (mark.start_ns, mark.duration_ns) == (measured.start_ns or 0, round(measured.value))
        for text in pause.texts:
            words = [FORMATS[value.format](subject.resolve(value.binding).value) for value in text.values]
            assert text.template.format(*words) == text.text


@pytest.mark.parametrize(("magnitude", "stamp"), [("usual", "MEASURED"), ("unsteady", "UNSTABLE")])
def test_a_measurement_that_was_not_steady_is_stamped(rendered, magnitude, stamp):
    """Every picture says so, in the place of its evidence class."""
    _, drawn, _ = rendered("a00", magnitude)
    for pause in drawn.pauses:
        assert [text.text for text in pause.texts if text.id == "provenance-0"] == [stamp]


@both_clips
@every_magnitude
def test_bars_stand_where_their_times_say(rendered, clip, magnitude):
    """On the main axis, both edges of every bar lie on the line through the axis's ticks."""
    _, drawn, _ = rendered(clip, magnitude)
    for pause in drawn.pauses:
        axis = next(axis for axis in pause.axes if axis.kind == "main")
        px_per_ns = (axis.ticks[-1].x_px - axis.ticks[0].x_px) / axis.ticks[-1].value_ns
        for mark in (mark for mark in pause.marks if mark.kind == "bar" and mark.axis == "main"):
            assert mark.x0_px == pytest.approx(PLOT_X0_PX + mark.start_ns * px_per_ns, abs=0.01)
            assert mark.x1_px - mark.x0_px == pytest.approx(mark.duration_ns * px_per_ns, abs=0.01)


@both_clips
@every_magnitude
def test_texts_stay_on_the_page_and_apart(rendered, clip, magnitude):
    """No text leaves the page's margins or lies on another; all can be read."""
    _, drawn, _ = rendered(clip, magnitude)
    for pause in drawn.pauses:
        for index, text in enumerate(pause.texts):
            x0, y0, x1, y1 = text.box_px
            assert x0 >= 92, (pause.name, text.text, text.box_px)
            assert x1 <= 1828, (pause.name, text.text, text.box_px)
            assert y0 >= 0, text.text
            assert y1 <= 1080, text.text
            assert text.size_px >= 36
            assert text.contrast >= 4.5, (text.text, text.contrast)
            for other in pause.texts[index + 1 :]:
                a0, b0, a1, b1 = other.box_px
                apart = x1 <= a0 or a1 <= x0 or y1 <= b0 or b1 <= y0
                assert apart, (pause.name, text.text, other.text)


@both_clips
@every_magnitude
def test_no_bar_or_tick_covers_a_text(rendered, clip, magnitude):
    """A bar, a line or a marker that lies under or over a text is the one that the text is written on."""
    _, drawn, _ = rendered(clip, magnitude)
    for pause in drawn.pauses:
        for text in pause.texts:
            x0, y0, x1, y1 = text.box_px
            for mark in (mark for mark in pause.marks if mark.kind != "bracket" and mark.id != GROUND):
                apart = mark.x1_px <= x0 or x1 <= mark.x0_px or mark.y1_px <= y0 or y1 <= mark.y0_px
                assert apart or mark.colour == text.behind, (pause.name, text.text, mark.id)


@every_magnitude
def test_the_recap_begins_with_the_hooks_last_picture(rendered, magnitude):
    """The stage picture that both share is the same, pixel by pixel."""
    hook_dir, hook, _ = rendered("a00", magnitude)
    recap_dir, recap, _ = rendered("a18", magnitude)
    last = (hook_dir / hook.pauses[-1].still).read_bytes()
    first = (recap_dir / recap.pauses[0].still).read_bytes()
    assert last == first


@every_magnitude
def test_the_recap_places_every_span_of_the_path(rendered, magnitude):
    """On its last still, each span is a bar of the row, or lies inside a block of steps."""
    _, recap, set_dir = rendered("a18", magnitude)
    subject = Subject.exemplar(load_set(set_dir).experiment("e23"), "A")
    bars = [mark for mark in recap.pauses[-1].marks if mark.kind == "bar" and mark.axis == "main"]
    drawn = {mark.binding for mark in bars}
    blocks = [mark for mark in bars if "/extent/" in mark.binding]
    for span in subject.path:
        inside = any(
            block.start_ns <= span.start_ns and span.end_ns <= block.start_ns + block.duration_ns for block in blocks
        )
        assert span.id in drawn or inside

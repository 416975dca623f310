"""The ledger says what is on the page: edges, colours and texts as they were drawn."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from PIL import Image

from scenes.ledger import Axis, Tick, Value
from scenes.render.animations import Appear, Fade, Grow
from scenes.render.errors import RenderError
from scenes.render.labels import Digits, Label
from scenes.render.marks import MarkInfo
from scenes.render.metrics import TextStyle
from scenes.render.shapes import Box, Polygon, Stroke

pytestmark = pytest.mark.slow

YELLOW, BLUE, TEXT = "#F7EC59", "#5CC3F5", "#F2F5F9"
STYLE = TextStyle("text", 64, 600, TEXT)


def mark(name: str = "bar", kind: str = "bar", **options) -> MarkInfo:
    """Return what a mark stands for."""
    return MarkInfo(name, kind, "r7/prefill/0", "hook", "time", 0, 10**9, **options)


def on_axis(scene) -> None:
    """Register what marks need."""
    scene.source("hook", "e23", "A")
    scene.axis(Axis("time", "main", 384, 1824, 900, 903, 912, [Tick(0, 384.0)], "#7A869A"))


def test_marks_are_recorded_as_they_stand(draw):
    """Each pause lists the marks on the page with the edges, colour and pattern of that moment."""

    def construct(scene):
        on_axis(scene)
        box = Box(400.25, 300, 400.25, 352, BLUE, mark=mark(cut_right=True))
        wait = Box(500, 400, 700.5, 452, YELLOW, pattern="wait", mark=mark("wait"))
        sliver = Box(800, 400, 802, 452, YELLOW, pattern="wait", mark=mark("sliver", readable=False))
        line = Stroke([(600, 200), (600, 250)], TEXT, 4, mark=mark("token", "hairline"))
        caret = Polygon([(801, 460), (808, 470), (794, 470)], TEXT, mark=mark("caret", "marker"))
        scene.add(box, Box(0, 0, 10, 10, BLUE))
        scene.pause("before")
        scene.play(Grow(box, 901.3, 0.2), Appear(wait, 0.2))
        scene.add(sliver, line, caret)
        scene.pause("after")
        scene.play(Fade(box, 0, 0.2))
        scene.remove(wait)
        scene.pause("gone")

    pauses = draw(construct, height_px=270).clip.pauses
    assert [[m.id for m in pause.marks] for pause in pauses] == [
        ["bar"], ["bar", "wait", "sliver", "token", "caret"], ["sliver", "token", "caret"],
    ]  # fmt: skip
    assert (pauses[0].marks[0].x0_px, pauses[0].marks[0].x1_px) == (400.25, 400.25)
    bar, wait, sliver, token, caret = pauses[1].marks
    assert (bar.x0_px, bar.x1_px, bar.y0_px, bar.y1_px, bar.colour, bar.cut_right) == (
        400.25,
        901.3,
        300,
        352,
        BLUE,
        True,
    )
    assert (wait.pattern, sliver.pattern, sliver.readable) == ("wait", "solid", False)
    assert (token.x0_px, token.x1_px, token.y0_px, token.y1_px) == (598, 602, 200, 250)
    assert (caret.x0_px, caret.x1_px, caret.y0_px, caret.y1_px) == (794, 808, 460, 470)


def test_texts_are_recorded_with_the_bitmap_that_is_on_the_page(draw):
    """A text's box and bitmap are what the still shows there; its contrast is that of its faintest run."""
    value = Value("r7/e2e", "hook", "total")
    muted = TextStyle("text", 64, 400, "#8B97A7")

    def construct(scene):
        on_axis(scene)
        scene.add(Label([("2.61 s", STYLE), ("  {all}", muted)], 400.4, 500.6, text_id="e2e",
                        template="{0}  {{all}}", values=[value], claim="grey-bar"))  # fmt: skip
        scene.add(Digits("0.25", 400, 800, STYLE, text_id="clock"), Label("ink", 900, 800, STYLE, behind=BLUE))
        scene.pause("all")

    drawn = draw(construct)
    e2e, clock, ink = drawn.clip.pauses[0].texts
    assert (e2e.text, e2e.template, e2e.values, e2e.claim) == ("2.61 s  {all}", "{0}  {{all}}", [value], "grey-bar")
    assert e2e.template.format("2.61 s") == e2e.text
    assert (e2e.colour, e2e.behind, e2e.contrast) == ("#8B97A7", "#0E1117", pytest.approx(6.4, abs=0.1))
    assert (clock.text, clock.template, clock.size_px) == ("0.25", "0.25", 64)
    assert (ink.id, ink.behind, ink.contrast < 2.5) == ("text-2", BLUE, True)
    for text in (e2e, clock):
        x0, y0, x1, y1 = map(int, text.box_px)
        alpha = np.asarray(Image.open(drawn.folder / text.bitmap))[..., 3].astype(float)
        shown = drawn.still(0)[y0:y1, x0:x1].astype(float).mean(axis=2)
        assert alpha.shape == shown.shape
        assert np.corrcoef(alpha.ravel(), shown.ravel())[0, 1] > 0.95
        assert alpha[0].any()
        assert alpha[:, -1].any()


def test_digests_and_notes_are_those_of_the_files(draw):
    """Stills and segments carry the sha256 of their files; notes, alt and caption are passed on."""

    def construct(scene):
        scene.add(Box(0, 0, 10, 10, BLUE))
        scene.pause("only", notes="say this", alt="a blue square", caption="a square")

    drawn = draw(construct, height_px=270)
    (pause,), (segment,) = drawn.clip.pauses, drawn.clip.segments
    assert pause.still_sha256 == hashlib.sha256((drawn.folder / pause.still).read_bytes()).hexdigest()
    assert segment.sha256 == hashlib.sha256((drawn.folder / segment.file).read_bytes()).hexdigest()
    assert (pause.notes, pause.alt, segment.caption) == ("say this", "a blue square", "a square")
    assert (segment.num_frames, drawn.clip.width_px, drawn.clip.height_px) == (1, 480, 270)


def test_an_axis_counts_from_its_registration_to_its_removal(draw):
    """A lens's axis is in the ledger only while it is open."""

    def construct(scene):
        on_axis(scene)
        scene.pause("closed")
        scene.axis(Axis("lens", "lens", 500, 900, 600, 560, 640, [Tick(0, 500.0)], TEXT, factor=40))
        scene.pause("open")
        scene.drop_axis("lens")
        scene.pause("closed again")

    pauses = draw(construct, height_px=270).clip.pauses
    assert [[axis.id for axis in pause.axes] for pause in pauses] == [["time"], ["time", "lens"], ["time"]]


@pytest.mark.parametrize(("spoil", "message"), [
    ("axis", "axis 'time'; known: none"),
    ("twice", "two marks of a pause have the id 'bar'"),
    ("faded", "opacity 0.4 at a pause"),
])  # fmt: skip
def test_what_cannot_be_verified_stops_the_render(draw, spoil, message):
    """A mark on an unknown axis, an id used twice and a half-faded mark are errors that name the mark."""

    def construct(scene):
        if spoil != "axis":
            on_axis(scene)
        scene.add(Box(400, 300, 900, 352, BLUE, mark=mark(), opacity=0.4 if spoil == "faded" else 1))
        if spoil == "twice":
            scene.add(Box(400, 400, 900, 452, BLUE, mark=mark()))
        scene.pause("end")

    with pytest.raises(RenderError, match=message):
        draw(construct, height_px=270)


def test_what_is_illustrative_is_no_mark(fonts_dir):
    """A hatched illustration cannot be bound to a measurement."""
    with pytest.raises(ValueError, match="stands for no measurement"):
        Box(0, 0, 10, 10, BLUE, pattern="illustrative", mark=mark())


@pytest.mark.parametrize("edges", [(float("nan"), 0, 10, 10), (10, 0, 0, 10)])
def test_boxes_have_real_edges(fonts_dir, edges):
    """A width that is not a number, or negative, is refused when the box is made."""
    with pytest.raises(ValueError, match=r"not a number|before its start"):
        Box(*edges, BLUE)

"""What the film shows: every frame where time puts it, and a last frame that is the still."""

from __future__ import annotations

import av
import numpy as np
import pytest

from scenes.ledger import Axis, Tick
from scenes.render.animations import Appear, Count, Fade, Grow, Morph, Move, Sweep
from scenes.render.errors import RenderError
from scenes.render.labels import Digits, Label
from scenes.render.marks import MarkInfo
from scenes.render.metrics import TextStyle
from scenes.render.shapes import Box

pytestmark = pytest.mark.slow

ORANGE, BLUE, DARK = "#F0A30A", "#5CC3F5", "#171C26"
AXIS = Axis("time", "main", 384, 1824, 900, 903, 912, [Tick(0, 384.0), Tick(10**9, 984.0)], "#7A869A")


def bar(x0: float, x1: float, y: float = 300, name: str = "bar", **options) -> Box:
    """Return a bar that is a mark."""
    mark = MarkInfo(name, "bar", "r7/prefill/0", "hook", "time", 0, 10**9)
    return Box(x0, y, x1, y + 52, ORANGE, mark=mark, **options)


def luma_of(frame: av.VideoFrame) -> np.ndarray:
    """Return a frame's luma plane."""
    plane = frame.planes[0]
    return np.frombuffer(plane, np.uint8).reshape(plane.height, plane.line_size)[:, : plane.width].astype(float)


def on_axis(scene) -> None:
    """Register what marks need."""
    scene.source("hook", "e23", "A")
    scene.axis(AXIS)


def edge(row: np.ndarray, near: float) -> float:
    """Return where luma steps between two colours, within 12 px of a guess, to a fraction of a pixel."""
    start, end = round(near) - 12, round(near) + 12
    left, right = row[start : start + 4].mean(), row[end - 4 : end].mean()
    return start + float(((row[start:end] - right) / (left - right)).clip(0, 1).sum())


def test_last_frame_is_the_still(draw):
    """The last frame of each segment shows the pause's still, up to what H.264 loses."""

    def construct(scene):
        on_axis(scene)
        growing = bar(384.0, 384.0)
        scene.add(Box(384, 300, 1824, 352, DARK, radius=4), growing)
        scene.play(Grow(growing, 901.3, 0.5))
        scene.pause("grown")
        scene.play(Appear(Label("8 ms", 700, 700, TextStyle("text", 64, 600, "#F2F5F9")), 0.2))
        scene.play(Fade(growing, 0, 0.2))
        scene.wait(0.5)
        scene.pause("faded")

    clip = draw(construct)
    for index in range(2):
        last = clip.frames(index)[clip.clip.segments[index].num_frames - 1]
        assert np.abs(last.to_ndarray(format="rgb24").astype(int) - clip.still(index)).mean() < 2
        luma = 16 + 219 / 255 * (clip.still(index) @ np.array([0.2126, 0.7152, 0.0722]))
        difference = np.abs(luma_of(last) - luma)
        assert np.quantile(difference, 0.999) < 8
        assert difference.max() < 40


def test_next_segment_begins_with_the_still(draw):
    """Frame 0 of a segment shows what the pause before it showed."""

    def construct(scene):
        box = Box(400, 300, 700, 352, BLUE)
        scene.add(box)
        scene.pause("first")
        scene.play(Move(box, 300, 0, 0.5))
        scene.pause("second")

    clip = draw(construct, height_px=540)
    first = clip.frames(1)[0].to_ndarray(format="rgb24").astype(int)
    assert np.abs(first - clip.still(0)).mean() < 2


@pytest.mark.parametrize("frames", [1, 2, 3, 7, 10, 19, 29, 30, 31, 49, 58, 97])
def test_run_times_give_whole_numbers_of_frames(draw, frames):
    """A play of k/30 s adds exactly k frames to the opening one, and the file's length says the same."""

    def construct(scene):
        box = Box(400, 300, 700, 352, BLUE)
        scene.add(box)
        scene.play(Move(box, 300, 0, frames / 30))
        scene.pause("end")

    clip = draw(construct, height_px=270)
    assert clip.clip.segments[0].num_frames == frames + 1
    assert list(clip.frames(0)) == list(range(frames + 1))


def test_hold_is_one_long_frame(draw):
    """A wait costs no frames of its own, yet lasts to the frame."""

    def construct(scene):
        scene.add(Box(400, 300, 700, 352, BLUE))
        scene.wait(4.0)
        scene.pause("end")

    clip = draw(construct, height_px=270)
    assert clip.clip.segments[0].num_frames == 121
    assert list(clip.frames(0)) == [0, 120]


def test_growth_is_linear_and_ends_exactly(draw):
    """In each decoded frame a growing bar ends within 1 px of the linear mix, and the ledger's end is exact."""

    def construct(scene):
        on_axis(scene)
        growing = bar(384.0, 384.0)
        scene.add(growing)
        scene.play(Grow(growing, 700.4, 1.0))
        scene.play(Grow(growing, 984.7, 0.5))
        scene.pause("grown")

    clip = draw(construct)
    first, second = clip.clip.segments[0].motions
    assert (first.first_frame, first.last_frame, first.from_px, first.to_px) == (0, 30, 384.0, 700.4)
    assert (second.first_frame, second.last_frame, second.from_px, second.to_px) == (30, 45, 700.4, 984.7)
    assert clip.clip.pauses[0].marks[0].x1_px == 984.7
    frames = clip.frames(0)
    for motion in (first, second):
        for frame in range(int(motion.first_frame) + 2, int(motion.last_frame) + 1):
            share = (frame - motion.first_frame) / (motion.last_frame - motion.first_frame)
            expected = motion.from_px + share * (motion.to_px - motion.from_px)
            assert edge(luma_of(frames[frame])[302:306].mean(axis=0), expected) == pytest.approx(expected, abs=1)


def test_edges_survive_the_encoder(draw):
    """Edges at any fraction of a pixel are found again in decoded luma within 0.5 px."""
    edges = [(384 + 0.13 * i, 800 + 0.37 * i, 60 + 60 * i) for i in range(15)]

    def construct(scene):
        on_axis(scene)
        for index, (x0, x1, y) in enumerate(edges):
            scene.add(bar(x0, x1, y, f"bar-{index}"))
        scene.pause("all")

    luma = luma_of(draw(construct).frames(0)[0])
    for x0, x1, y in edges:
        rows = luma[y + 2 : y + 6].mean(axis=0)
        assert edge(rows, x0) == pytest.approx(x0, abs=0.5)
        assert edge(rows, x1) == pytest.approx(x1, abs=0.5)


def test_sweep_lets_each_box_grow_while_it_is_crossed(draw):
    """A replay's boxes end at the line while it crosses them, and the motions say when, to a fraction of a frame."""
    places = [(384.0, 430.2), (430.2, 431.0), (455.5, 900.3), (1000.0, 1200.0)]

    def construct(scene):
        on_axis(scene)
        boxes = [bar(x0, x1, 100 + 60 * i, f"bar-{i}") for i, (x0, x1) in enumerate(places)]
        scene.play(Sweep(boxes, 384.0, 984.0, 1.0))
        scene.pause("swept")

    clip = draw(construct)
    assert [mark.x1_px for mark in clip.clip.pauses[0].marks] == [430.2, 431.0, 900.3, 1000.0]
    motions = {motion.mark: motion for motion in clip.clip.segments[0].motions}
    assert list(motions) == ["bar-0", "bar-1", "bar-2"]
    assert (motions["bar-2"].from_px, motions["bar-2"].to_px) == (455.5, 900.3)
    for frame, shown in clip.frames(0).items():
        line = 384 + 20 * frame
        for index, (x0, x1) in enumerate(places):
            if x0 + 12 < line < x1 - 12:
                row = luma_of(shown)[102 + 60 * index : 106 + 60 * index].mean(axis=0)
                assert edge(row, line) == pytest.approx(line, abs=1)
                motion = motions[f"bar-{index}"]
                share = (frame - motion.first_frame) / (motion.last_frame - motion.first_frame)
                assert motion.from_px + share * (motion.to_px - motion.from_px) == pytest.approx(line)


def test_clock_counts_linearly(draw):
    """Digits count with the frames and end on the value itself."""
    said = []

    def construct(scene):
        digits = Digits("0.00", 400, 500, TextStyle("mono", 100, 400, "#F2F5F9"), text_id="clock")
        plain = digits.set_text
        digits.set_text = lambda text: (said.append(text), plain(text))
        scene.add(digits)
        scene.play(Count(digits, 0, 2_610_000_000, "clock", 0.1))
        scene.pause("end")

    clip = draw(construct, height_px=270)
    assert list(dict.fromkeys(said)) == ["0.00", "0.87", "1.74", "2.61"]
    assert clip.clip.pauses[0].texts[0].text == "2.61"


def test_partial_redraw_equals_whole_redraw(draw):
    """A frame drawn only where it changed is the same, pixel for pixel, as the page drawn anew: no frame is added."""

    def construct(scene):
        wait = Box(300.3, 200, 800.6, 252, "#F7EC59", pattern="wait")
        over = Box(500, 180, 900, 300, BLUE, radius=12, opacity=0.4)
        heavy = Box(400, 500, 401, 552, ORANGE, heavy_left_px=10, heavy_left="#A86F00", outline="#FFFFFF", outline_px=3)
        scene.add(wait, over, heavy)
        scene.play(Move(wait, 111.1, 40, 0.3), Grow(heavy, 933.3, 0.3), Fade(over, 0.8, 0.3))
        scene.pause("end")

    assert draw(construct).clip.segments[0].num_frames == 10


def test_stills_are_those_of_the_film(draw):
    """Mode stills draws the same pictures, byte for byte, and no segment."""

    def construct(scene):
        on_axis(scene)
        growing = bar(384.0, 384.0)
        scene.play(Grow(growing, 901.3, 0.5))
        scene.play(Appear(Label("8 ms", 700, 700, TextStyle("text", 64, 600, "#F2F5F9")), 0.2))
        scene.pause("grown")
        scene.wait(2)
        scene.play(Morph(growing, Box(384, 500, 901.3, 552, BLUE), 0.5))
        scene.pause("moved")

    film, stills = draw(construct, height_px=540), draw(construct, height_px=540, mode="stills")
    assert stills.clip.segments == []
    assert stills.clip.pauses == film.clip.pauses
    assert not list(stills.folder.glob("*.mp4"))


def test_same_inputs_give_same_bytes(draw):
    """Two renders of a clip give the same files."""

    def construct(scene):
        on_axis(scene)
        growing = bar(384.0, 384.0)
        scene.add(Label("2.61 s", 96, 112, TextStyle("text", 64, 600, "#F2F5F9")))
        scene.play(Grow(growing, 901.3, 0.5))
        scene.pause("grown")

    first, second = draw(construct, height_px=540), draw(construct, height_px=540)
    files = {path.name: path.read_bytes() for path in first.folder.iterdir()}
    assert files == {path.name: path.read_bytes() for path in second.folder.iterdir()}


def test_segments_are_as_players_need_them(draw):
    """H.264 high without B-frames, BT.709 limited range, and one keyframe in 12 s."""

    def construct(scene):
        box = Box(400, 300, 402, 352, BLUE)
        scene.add(box)
        scene.play(Grow(box, 1800, 13.0))
        scene.pause("end")

    clip = draw(construct, height_px=270)
    frames = clip.frames(0)
    assert [number for number, frame in frames.items() if frame.key_frame] == [0, 360]
    assert {av.video.frame.PictureType(frame.pict_type).name for frame in frames.values()} == {"I", "P"}
    frame = frames[0]
    assert (frame.colorspace, frame.color_range, frame.format.name) == (1, 1, "yuv420p")


def test_mobjects_of_manim_keep_their_place_in_the_order(draw):
    """A circle of Manim's between two boxes hides the one below and is hidden by the one above."""
    from manim import Circle, Create

    def construct(scene):
        circle = Circle(radius=0.5, fill_opacity=1, stroke_width=0, color="#00FF00")
        scene.add(Box(860, 440, 1060, 640, BLUE))
        scene.play(Create(circle), run_time=0.2)
        scene.add(Box(950, 530, 970, 550, ORANGE))
        scene.pause("end")

    still = draw(construct).still(0)
    assert tuple(still[540, 960]) == (240, 163, 10)
    assert tuple(still[540, 990]) == (0, 255, 0)
    assert tuple(still[445, 865]) == (92, 195, 245)


def test_animations_of_manim_move_our_mobjects(draw):
    """Manim's own fade and shift work on our kinds."""
    from manim import FadeOut

    def construct(scene):
        stays, goes = Box(400, 300, 500, 352, BLUE), Box(400, 400, 500, 452, BLUE)
        scene.add(stays, goes)
        scene.play(stays.animate.shift((200, 0, 0)), FadeOut(goes), run_time=0.2)
        scene.pause("end")

    still = draw(construct).still(0)
    assert tuple(still[320, 650]) == (92, 195, 245)
    assert tuple(still[320, 450]) == tuple(still[420, 450]) == (14, 17, 23)


def test_growth_refuses_another_rate(draw):
    """A growth with easing is refused where it is made, and where a play would slip it in."""
    from manim import smooth

    def construct(scene):
        on_axis(scene)
        growing = bar(384.0, 384.0)
        with pytest.raises(ValueError, match="linear"):
            Grow(growing, 900, 1.0, rate_func=smooth)
        scene.play(Grow(growing, 900, 1.0), rate_func=smooth)

    with pytest.raises(ValueError, match="linear"):
        draw(construct, height_px=270)


@pytest.mark.parametrize("how", ["move", "morph", "set", "animate"])
def test_a_bar_moves_along_x_only_by_growing(draw, how):
    """Any other change of a bar's edges stops the render at the next pause or play, naming the mark."""

    def construct(scene):
        on_axis(scene)
        box = bar(400.0, 900.0)
        scene.add(box)
        scene.pause("before")
        if how == "move":
            scene.play(Move(box, 10, 0, 0.2))
        elif how == "morph":
            scene.play(Morph(box, Box(400, 300, 910, 352, ORANGE), 0.2))
        elif how == "set":
            box.set_edges(400, 300, 910, 352)
        else:
            scene.play(box.animate.shift((10, 0, 0)), run_time=0.2)
        scene.pause("after")

    with pytest.raises(RenderError, match=r"'bar' moved .* linear"):
        draw(construct, height_px=270)


def test_a_run_time_between_frames_is_refused(draw):
    """0.35 s at 30 frames a second is 10.5 frames: an error that says so."""

    def construct(scene):
        scene.play(Appear(Box(0, 0, 10, 10, BLUE), 0.35))

    with pytest.raises(ValueError, match=r"0\.35 s is not a whole number of frames"):
        draw(construct, height_px=270)

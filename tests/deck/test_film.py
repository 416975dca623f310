"""``deck.mp4``, read back: frames, holds, chapters and captions stand where the manifest says."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from build_kit import quick_build, quick_set
from canvas import encode
from scenes.ledger import Pause, Segment, Text
from spanreel.errors import SpanreelError
from spanreel.film import Chapter, Shot, write_film
from spanreel.holds import HOLD_MIN_S, hold_frames
from spanreel.units import read_clip


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A built film of two clips."""
    folder = tmp_path_factory.mktemp("film")
    return quick_build(folder, quick_set(folder / "sets"))


def shown_frames(file: Path, fps: int) -> dict[int, np.ndarray]:
    """Decode a film: each stored picture by the frame that it appears at."""
    with av.open(str(file)) as container:
        stream = container.streams.video[0]
        return {round(f.pts * stream.time_base * fps): f.to_ndarray(format="gray") for f in container.decode(stream)}


def test_every_segment_stands_where_the_manifest_says_and_is_held(built):
    """Decoded pictures are those of the segments, frame for frame; during a hold nothing new appears."""
    film = shown_frames(built.folder / "deck.mp4", built.deck.fps)
    expected: dict[int, np.ndarray] = {}
    cache = built.folder.parent / "cache" / "units"
    for slide in built.deck.slides:
        if slide.clip is None:
            continue
        unit = cache / slide.clip.unit_hash
        for segment, first in zip(read_clip(unit).segments, slide.clip.first_frames, strict=True):
            own = shown_frames(unit / segment.file, built.deck.fps)
            expected |= {first + index: picture for index, picture in own.items()}
    assert film.keys() == expected.keys()
    assert all(np.array_equal(film[index], expected[index]) for index in film)


def test_the_film_is_as_long_as_its_segments_and_holds(built):
    """The last picture is held to the end."""
    clips = [slide.clip for slide in built.deck.slides if slide.clip]
    last = clips[-1]
    record = read_clip(built.folder / last.folder)
    end = last.first_frames[-1] + record.segments[-1].num_frames + last.hold_frames[-1]
    with av.open(str(built.folder / "deck.mp4")) as container:
        stream = container.streams.video[0]
        assert stream.duration * stream.time_base == Fraction(end, built.deck.fps)
        packets = [packet for packet in container.demux(stream) if packet.size]
    assert packets[-1].duration * packets[-1].time_base >= Fraction(last.hold_frames[-1], built.deck.fps)


def test_each_clip_slide_is_a_chapter(built):
    """Chapters carry the slides' titles and touch."""
    slides = [slide for slide in built.deck.slides if slide.clip]
    with av.open(str(built.folder / "deck.mp4")) as container:
        chapters = container.chapters()
        length = container.duration
    assert [chapter["metadata"]["title"] for chapter in chapters] == [slide.title for slide in slides]
    starts = [float(chapter["start"] * chapter["time_base"]) for chapter in chapters]
    ends = [float(chapter["end"] * chapter["time_base"]) for chapter in chapters]
    expected = [slide.clip.first_frames[0] / built.deck.fps for slide in slides]
    assert starts == pytest.approx(expected, abs=1e-3)
    assert ends == pytest.approx([*starts[1:], length / 1e6], abs=1e-3)


def test_each_segment_has_its_caption(built):
    """Captions are text, and each begins with its segment."""
    wanted = [
        (first, segment.caption)
        for slide in built.deck.slides
        if slide.clip
        for first, segment in zip(
            slide.clip.first_frames, read_clip(built.folder / slide.clip.folder).segments, strict=True
        )
        if segment.caption
    ]
    with av.open(str(built.folder / "deck.mp4")) as container:
        stream = container.streams.subtitles[0]
        found = [
            (round(packet.pts * packet.time_base * built.deck.fps), bytes(packet)[2:].decode())
            for packet in container.demux(stream)
            if packet.size > 2
        ]
    assert found == wanted
    assert wanted


def test_the_film_starts_playing_before_it_is_whole(built):
    """The index stands before the pictures."""
    data = (built.folder / "deck.mp4").read_bytes()
    assert data.index(b"moov") < data.index(b"mdat")


def pause(*texts: str) -> Pause:
    """Return a pause that shows these texts."""
    entries = [Text(text, text, text, [], "", (0, 0, 1, 1), 44, "#ffffff", "#000000", 21, "none") for text in texts]
    return Pause("pause", "still.png", "", [], [], entries, "", "")


def test_a_picture_is_held_as_long_as_its_new_words_take(built):
    """Two seconds at least; bare numbers are not read; what stood there before is not read again."""
    clip = read_clip(built.folder / built.deck.slides[1].clip.folder)
    ten = " ".join(["word"] * 10)
    clip = type(clip)(**{name: getattr(clip, name) for name in clip.__struct_fields__} | {
        "pauses": [pause(ten), pause(ten, "0.5", "two words")],
    })  # fmt: skip
    assert hold_frames([clip]) == [[round(10 * 0.35 * clip.fps), round(HOLD_MIN_S * clip.fps)]]


def test_segments_that_were_encoded_differently_are_refused(tmp_path):
    """Copying would give a file that does not play."""
    shots = []
    for index, size in enumerate([(64, 64), (64, 128)]):
        file = tmp_path / f"{index}.mp4"
        encode([np.zeros((*size, 3), np.uint8)] * 2, file, 30)
        shots.append(Shot(file, Segment(file.name, "", 2, [], ""), index * 10, 8))
    with pytest.raises(SpanreelError, match="not encoded like"):
        write_film(shots, [Chapter("All", 0, 20)], {}, 30, tmp_path / "film.mp4")

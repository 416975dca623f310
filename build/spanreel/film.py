"""``deck.mp4``: the segments of all clips copied into one file, with holds, chapters and captions; none is encoded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scenes.ledger import Segment
from spanreel.errors import SpanreelError

if TYPE_CHECKING:
    import av


@dataclass(frozen=True)
class Shot:
    """One segment in the film, and how long its last picture stays."""

    file: Path
    segment: Segment
    first_frame: int
    hold_frames: int

    @property
    def end_frame(self) -> int:
        """Where the next shot begins."""
        return self.first_frame + self.segment.num_frames + self.hold_frames


@dataclass(frozen=True)
class Chapter:
    """A slide's stretch of the film."""

    title: str
    first_frame: int
    end_frame: int


def write_film(
    shots: Sequence[Shot], chapters: Sequence[Chapter], metadata: dict[str, str], fps: int, out_file: Path
) -> None:
    """Write the film.

    Args:
        shots: In order; each begins where the one before ends.
        chapters: In order.
        metadata: Tags of the file, such as ``title``.
        fps: Frames a second of every shot.
        out_file: The MP4 file.

    Raises:
        SpanreelError: The segments were not encoded alike.
    """
    import av

    frame = Fraction(1, fps)
    with av.open(str(shots[0].file)) as first:
        template = first.streams.video[0]
        extradata = template.codec_context.extradata
        with av.open(str(out_file), "w", format="mp4", options={"movflags": "+faststart"}) as film:
            film.metadata.update(metadata)
            film.set_chapters([
                {
                    "id": number, "start": chapter.first_frame, "end": chapter.end_frame, "time_base": frame,
                    "metadata": {"title": chapter.title},
                }
                for number, chapter in enumerate(chapters, 1)
            ])  # fmt: skip
            video: Any = film.add_stream_from_template(template)
            captions: Any = film.add_mux_stream("mov_text", time_base=frame)
            captions.metadata["language"] = "eng"
            for shot in shots:
                film.mux(_caption(shot, captions, frame))
                for packet in _video(shot, extradata, frame):
                    packet.stream = video
                    film.mux(packet)


def _video(shot: Shot, extradata: bytes | None, frame: Fraction) -> Iterator[av.Packet[Any]]:
    """Yield a segment's packets at their place in the film; the last one lasts until the hold is over."""
    import av

    with av.open(str(shot.file)) as container:
        stream = container.streams.video[0]
        if stream.codec_context.extradata != extradata:
            raise SpanreelError(f"{shot.file} was not encoded like the film's first segment; build again")
        packets = [packet for packet in container.demux(stream) if packet.size]
        starts = [round(Fraction(packet.pts or 0) * packet.time_base / frame) for packet in packets]
        stops = [*starts[1:], shot.segment.num_frames + shot.hold_frames]
        for packet, start, stop in zip(packets, starts, stops, strict=True):
            packet.time_base = frame
            packet.pts = packet.dts = shot.first_frame + start
            packet.duration = stop - start
            yield packet


def _caption(shot: Shot, stream: Any, frame: Fraction) -> av.Packet[Any]:
    """Return a caption that stands as long as its shot: two bytes of length, then text."""
    import av

    text = shot.segment.caption.encode()
    packet = av.Packet(len(text).to_bytes(2, "big") + text)
    packet.stream = stream
    packet.time_base = frame
    packet.pts = packet.dts = shot.first_frame
    packet.duration = shot.end_frame - shot.first_frame
    return packet

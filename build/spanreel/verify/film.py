"""The decoded film, picture by picture, each with the frames that it is shown in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import av

from spanreel.errors import InputError
from spanreel.verify.picture import Picture


@dataclass(frozen=True, slots=True)
class Shown:
    """A picture and the frames, counted from the start of the film, that show it."""

    picture: Picture
    first_frame: int
    last_frame: int


def shown_pictures(file: Path, fps: int) -> Iterator[Shown]:
    """Decode a film; a picture that is held is yielded once, with all its frames.

    Raises:
        InputError: The file holds no film.
        av.error.FFmpegError: The film cannot be decoded.
    """
    with av.open(str(file)) as container:
        if not container.streams.video:
            raise InputError(f"{file} holds no film; build it again with: spanreel build")
        stream = container.streams.video[0]
        stream.thread_type = "NONE"
        end = round(Fraction(stream.duration or 0) * (stream.time_base or 1) * fps)
        before: av.VideoFrame | None = None
        start = 0
        for frame in container.decode(stream):
            at = round(Fraction(frame.pts or 0) * (frame.time_base or 1) * fps)
            if before is not None and at > start:
                yield Shown(Picture.of(before), start, at - 1)
            before, start = frame, at
        if before is not None:
            yield Shown(Picture.of(before), start, max(start, end - 1))

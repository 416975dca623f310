"""Pictures and films inside the HTML deck: each one a block of base64 that the page turns into a Blob."""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass
from pathlib import Path

from scenes.ledger import Clip
from spanreel.errors import EnvironmentLackError

STILL_TYPE = "image/webp"
FILM_TYPE = "video/mp4"


@dataclass(frozen=True)
class Block:
    """A file that the page carries."""

    name: str
    """Clip id and file name; unique in the page."""
    media_type: str
    base64: str

    @property
    def data_uri(self) -> str:
        """The file as an address."""
        return f"data:{self.media_type};base64,{self.base64}"


def still_blocks(clip: Clip, folder: Path) -> list[Block]:
    """Return the picture of each pause, in order."""
    return [
        Block(f"{clip.clip}/{pause.still}", STILL_TYPE, base64_text(_smaller(folder / pause.still)))
        for pause in clip.pauses
    ]


def film_blocks(clip: Clip, folder: Path) -> list[Block]:
    """Return the film of each segment, in order; none where only stills were drawn."""
    return [
        Block(f"{clip.clip}/{segment.file}", FILM_TYPE, base64_text((folder / segment.file).read_bytes()))
        for segment in clip.segments
    ]


def base64_text(data: bytes) -> str:
    """Return bytes as base64 on one line."""
    return base64.b64encode(data).decode("ascii")


def _smaller(still: Path) -> bytes:
    """Return a still as lossless WebP: the same pixels in a third of the bytes.

    Raises:
        EnvironmentLackError: Pillow is not installed.
    """
    try:
        from PIL import Image
    except ImportError as error:
        raise EnvironmentLackError("the HTML deck needs Pillow; install it with: make deck") from error
    packed = io.BytesIO()
    with Image.open(still) as picture:
        picture.save(packed, "WEBP", lossless=True, quality=50, method=4)
    return packed.getvalue()

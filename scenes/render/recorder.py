"""The ledger of a clip as it is drawn: read from the mobjects at each pause, never from what was meant."""

from __future__ import annotations

import io
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from PIL import Image

from scenes import ledger
from scenes.render.animations import EdgeMotion, mix_colours
from scenes.render.camera import Pixels
from scenes.render.contrast import contrast
from scenes.render.drawn import Drawn
from scenes.render.errors import RenderError
from scenes.render.labels import Writing
from scenes.render.shapes import Box
from traces.storage import digest

_PNG_LEVEL = 6


class Recorder:
    """Collects axes, sources, motions and pauses, and writes stills and text bitmaps beside them.

    Args:
        folder: The clip's folder.
        background: Colour of what texts stand on unless they say otherwise.
    """

    def __init__(self, folder: Path, background: str) -> None:
        self._folder = folder
        self._background = background
        self.axes: dict[str, ledger.Axis] = {}
        self.sources: dict[str, ledger.Source] = {}
        self.pauses: list[ledger.Pause] = []
        self.segments: list[ledger.Segment] = []
        self._motions: list[ledger.Motion] = []

    def motion(self, edge: EdgeMotion, first_frame: int) -> None:
        """Note a motion of a play whose frame 0 is the segment's ``first_frame``."""
        if edge.box.mark:
            self._motions.append(
                ledger.Motion(
                    edge.box.mark.id,
                    first_frame + edge.first_frame,
                    first_frame + edge.last_frame,
                    edge.from_px,
                    edge.to_px,
                )
            )

    def segment(self, file: str, num_frames: int, caption: str) -> None:
        """Note a segment that was written, with the motions since the one before."""
        sha256 = digest((self._folder / file).read_bytes())
        self.segments.append(ledger.Segment(file, sha256, num_frames, self._motions, caption))
        self._motions = []

    def pause(self, name: str, pixels: Pixels, parts: Iterable[Drawn], notes: str, alt: str) -> None:
        """Note the picture at a pause, and write its still.

        Raises:
            RenderError: A mark names an axis or a source that is not known, or stands half faded; or two marks or
                two texts share an id.
        """
        shown = [part for part in parts if part.opacity > 0]
        still = f"still_{len(self.pauses)}.png"
        sha256 = self._save(Image.fromarray(pixels[..., :3].copy()), still)
        marks = [self._mark(part) for part in shown if part.mark]
        texts = self._texts([part for part in shown if isinstance(part, Writing)])
        _require_unique("mark", [mark.id for mark in marks])
        _require_unique("text", [text.id for text in texts])
        self.pauses.append(ledger.Pause(name, still, sha256, list(self.axes.values()), marks, texts, notes, alt))

    def _mark(self, part: Drawn) -> ledger.Mark:
        info = part.mark
        if info is None:
            raise ValueError("not a mark")
        if info.axis not in self.axes:
            raise RenderError(f"mark {info.id!r} names axis {info.axis!r}; known: {', '.join(self.axes) or 'none'}")
        if info.source not in self.sources:
            known = ", ".join(self.sources) or "none"
            raise RenderError(f"mark {info.id!r} names source {info.source!r}; known: {known}")
        if part.opacity < 1:
            raise RenderError(f"mark {info.id!r} has opacity {part.opacity:g} at a pause; give it an opaque colour")
        x0, y0, x1, y1 = part.edges
        return ledger.Mark(
            id=info.id, kind=info.kind, binding=info.binding, source=info.source, axis=info.axis,
            start_ns=info.start_ns, duration_ns=info.duration_ns, x0_px=x0, x1_px=x1, y0_px=y0, y1_px=y1,
            colour=part.mark_colour, pattern=_pattern(part), readable=info.readable,
            cut_left=info.cut_left, cut_right=info.cut_right,
        )  # fmt: skip

    def _texts(self, writings: list[Writing]) -> list[ledger.Text]:
        texts = []
        for number, writing in enumerate(writings):
            ink = writing.ink()
            if ink is None:
                continue
            box, bitmap = ink
            claim = writing.claim
            behind = claim.behind or self._background
            colours = [mix_colours(behind, style.colour, writing.opacity) for style in writing.styles]
            faintest = min(colours, key=lambda colour: contrast(colour, behind))
            template = claim.template if claim.template is not None else _literal(writing.text)
            text = ledger.Text(
                id=claim.text_id or f"text-{number}", text=writing.text, template=template, values=claim.values,
                claim=claim.claim, box_px=box, size_px=min(style.size_px for style in writing.styles),
                colour=faintest, behind=behind, contrast=round(contrast(faintest, behind), 2),
                bitmap=self._save_bitmap(bitmap),
            )  # fmt: skip
            texts.append(text)
        return texts

    def _save_bitmap(self, bitmap: Image.Image) -> str:
        name = f"text_{digest(bitmap.tobytes() + repr(bitmap.size).encode())[:16]}.png"
        if not (self._folder / name).is_file():
            self._save(bitmap, name)
        return name

    def _save(self, image: Image.Image, name: str) -> str:
        buffer = io.BytesIO()
        image.save(buffer, "PNG", compress_level=_PNG_LEVEL)
        (self._folder / name).write_bytes(buffer.getvalue())
        return digest(buffer.getvalue())


def _pattern(part: Drawn) -> Literal["solid", "wait", "outline"]:
    drawn = part.drawn_pattern if isinstance(part, Box) else "solid"
    return drawn if drawn in ("wait", "outline") else "solid"


def _literal(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _require_unique(what: str, ids: list[str]) -> None:
    seen: set[str] = set()
    for name in ids:
        if name in seen:
            raise RenderError(f"two {what}s of a pause have the id {name!r}")
        seen.add(name)

"""Bright little clips and a deck that shows them, for tests of the HTML page: drawn in a moment, no renderer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from canvas import encode
from scenes import ledger
from spanreel.deck import DECK_VERSION, BuiltClip, BuiltSlide, Deck
from spanreel.page import write_page
from traces.storage import digest

SIZE_PX = (480, 270)
BRIGHT, BOX = 224, (40, 90, 200)
SHA256 = "0123456789abcdef" * 4
HOSTILE = "</script><script>alert(1)</script><!-- & \"quotes\" 'apostrophes' <b>\u2028 {{ 7 * 7 }}"


def draw_clip(
    folder: Path, clip: str, *, pauses: int = 3, first_frames: int = 1, num_frames: int = 30, words: str = "words"
) -> Path:
    """Draw a clip in which a blue box steps to the right on a bright page, and return its folder.

    The film to the first pause lasts ``first_frames``, the others ``num_frames``; ``words`` stand in every text field.
    """
    folder.mkdir(parents=True)
    records, segments = [], []
    for index in range(pauses):
        still, film = f"still_{index}.png", f"segment_{index}.mp4"
        Image.fromarray(_picture(index)).save(folder / still)
        count = num_frames if index else first_frames
        encode(_film(index, count), folder / film, 30)
        marks = [_mark("r7/e2e", 0, 1_000_000_000, 768), _mark("r7/prefill/0", 0, 500_000_000, 384)]
        marks += [_mark("r7/decode/0", 500_000_000, 500_000_000, 384, x0=768)]
        alt, caption = f"{clip} alt {index} {words}", f"{clip} caption {index} {words}"
        records.append(ledger.Pause(f"p{index}", still, _digest(folder / still), [], marks, [], "", alt))
        segments.append(ledger.Segment(film, _digest(folder / film), count, [], caption))
    source = ledger.Source("hook", "e23", "A", 0, "r7", SHA256)
    record = ledger.Clip(ledger.LEDGER_VERSION, clip, "0" * 64, *SIZE_PX, 30, [source], records, segments)
    (folder / "clip.json").write_bytes(msgspec.json.encode(record))
    return folder


def make_deck(*clips: str, words: str = "words") -> Deck:
    """Return a deck of one demo slide and a slide for each clip."""
    slides = [_slide("call", "demo", words, demo="one-request")]
    slides += [
        _slide(f"slide-{clip}", "clip", words, clip=BuiltClip(clip, "0" * 64, f"clips/{clip}", "0" * 64, [], []))
        for clip in clips
    ]
    return Deck(DECK_VERSION, "test", "somewhere", "0" * 64, {"e23": SHA256}, 30, 1920, 1080, slides, [])


def make_page(folder: Path, *, words: str = "words", clips: tuple[str, ...] = ("a00", "a18")) -> Path:
    """Draw clips, write the page into ``folder`` and return its path."""
    folders = {clip: draw_clip(folder / "units" / clip, clip, words=words) for clip in clips}
    page = folder / "deck.html"
    write_page(folder, make_deck(*clips, words=words), folders, make_twin(words), page)
    return page


def make_twin(words: str = "words") -> dict[str, object]:
    """Return a recorded twin of two spans and two tokens."""
    spans = [
        {"name": "prefill", "component": "model", "start_ns": 0, "duration_ns": 500_000_000, "pattern": "solid"},
        {"name": "decode", "component": "model", "start_ns": 500_000_000, "duration_ns": 500_000_000,
         "pattern": "solid"},
    ]  # fmt: skip
    return {
        "lanes": [{"name": "Model (CPU)", "component": "model", "components": ["model", "sampler"]}],
        "spans": [span | {"role": span["name"]} for span in spans],
        "tokens": [{"t_ns": 500_000_000, "text": words}, {"t_ns": 1_000_000_000, "text": words}],
        "ttft_ns": 500_000_000,
        "e2e_ns": 1_000_000_000,
        "machine": words,
        "model": words,
        "hash": SHA256[:8],
        "prompt": words,
    }


def _slide(slide_id: str, kind: str, words: str, clip: BuiltClip | None = None, demo: str | None = None) -> BuiltSlide:
    return BuiltSlide(slide_id, "hook", kind, f"Title of {slide_id} {words}", "none", 1.5, f"Notes {words}", clip, demo)


def _mark(binding: str, start_ns: int, duration_ns: int, width: float, x0: float = 384) -> ledger.Mark:
    return ledger.Mark(
        id=binding, kind="bar", binding=binding, source="hook", axis="main", start_ns=start_ns,
        duration_ns=duration_ns, x0_px=x0, x1_px=x0 + width, y0_px=400, y1_px=464, colour="#000000",
    )  # fmt: skip


def _picture(place: float) -> NDArray[np.uint8]:
    width, height = SIZE_PX
    picture = np.full((height, width, 3), BRIGHT, np.uint8)
    left = round(20 + 100 * place)
    picture[100:150, left : left + 60] = BOX
    return picture


def _film(index: int, count: int) -> Iterator[NDArray[np.uint8]]:
    for frame in range(count):
        yield _picture(index - 1 + (frame + 1) / count if index else 0)


def _digest(file: Path) -> str:
    return digest(file.read_bytes())

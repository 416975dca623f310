"""Stands in for ``python -m scenes.render`` where only files matter: tiny clips with the title and a growing bar.

The first clip has three segments, any other two; the title is what the job says, so that a clip follows its trace.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from canvas import encode
from scenes import ledger
from scenes.job import RenderJob
from traces import load_set
from traces.storage import digest

FPS, WIDTH_PX, HEIGHT_PX = 30, 192, 108
NUM_FRAMES = 6


def draw(job: RenderJob) -> None:
    """Draw a clip into the job's folder; the ledger appears last."""
    out_dir, trace_set = Path(job.out_dir), load_set(Path(job.set_dir))
    shade = int(digest(job.unit_hash.encode())[:2], 16)
    names = ["waiting", "whole", "named"] if job.clip == "a00" else ["again", "named"]
    Image.fromarray(np.full((8, 40, 4), shade, np.uint8)).save(out_dir / "text_title.png")
    pauses, segments = [], []
    for index, name in enumerate(names):
        frames = list(_frames(shade, index))
        still, film = f"still_{index}.png", f"segment_{index}.mp4"
        Image.fromarray(frames[-1]).save(out_dir / still)
        pauses.append(_pause(name, still, digest((out_dir / still).read_bytes()), job))
        if job.mode == "film":
            encode(frames, out_dir / film, FPS)
            caption = f"{job.clip}: {name} <& >"
            segments.append(ledger.Segment(film, digest((out_dir / film).read_bytes()), len(frames), [], caption))
    source = ledger.Source("A", "e23", "A", 0, "r7", trace_set.sha256["e23"])
    clip = ledger.Clip(
        ledger.LEDGER_VERSION, job.clip, job.unit_hash, WIDTH_PX, HEIGHT_PX, FPS, [source], pauses, segments
    )
    (out_dir / "clip.json").write_bytes(msgspec.json.encode(clip))


def _frames(shade: int, index: int) -> Iterator[NDArray[np.uint8]]:
    for frame in range(NUM_FRAMES):
        picture = np.full((HEIGHT_PX, WIDTH_PX, 3), shade, np.uint8)
        picture[40:60, : 20 * index + 4 * frame] = 255 - shade
        yield picture


def _pause(name: str, still: str, sha256: str, job: RenderJob) -> ledger.Pause:
    texts = [
        ledger.Text(f"title-{slide}", title, title, [], slide, (8, 8, 48, 16), 64, "#ffffff", "#000000", 21,
                    "text_title.png")
        for slide, title in job.titles.items()
    ]  # fmt: skip
    return ledger.Pause(name, still, sha256, [], [], texts, f"Notes at {name}.", f"A bar, {name}.")


if __name__ == "__main__":
    draw(msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=RenderJob))

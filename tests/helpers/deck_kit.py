"""Small built decks for tests: clips drawn by the real renderer, their film, and a manifest that fits."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import av
import msgspec
import numpy as np
from PIL import Image

from scenes import ledger
from scenes.job import RenderJob
from scenes.render.segment import SegmentWriter
from slides.claims import title
from spanreel.deck import DECK_VERSION, BuiltClip, BuiltSlide, Deck, Output
from tampered_render import Tampering
from traces import load_set
from traces.storage import canonical_json, digest

ROOT = Path(__file__).parents[2]
HELPERS = Path(__file__).parent
SLIDES = {"a00": "grey-bar", "a18": "recap"}
HOLD_FRAMES = 60


@dataclass(frozen=True)
class Studio:
    """Where clips are drawn, with the typefaces and the label cache that they share."""

    folder: Path
    fonts: Path

    def render(self, clip: str, set_dir: Path, out: Path, *, tampering: Tampering | None = None,
               mode: str = "stills") -> None:  # fmt: skip
        """Draw a clip into ``out``; in the mode ``stills`` its film is one frame for each pause."""
        out.mkdir(parents=True)
        labels = self.folder / "labels"
        labels.mkdir(exist_ok=True)
        trace_set = load_set(set_dir)
        titles = {slide: title(slide, trace_set).text for slide in ("call", "grey-bar", "recap")}
        job = RenderJob(
            clip=clip, set_dir=str(set_dir), theme_file=str(ROOT / "slides" / "theme.toml"), fonts_dir=str(self.fonts),
            label_cache_dir=str(labels), out_dir=str(out), titles=titles, mode=mode, unit_hash="0" * 64,
        )  # fmt: skip
        with tempfile.TemporaryDirectory() as folder:
            job_file, tampering_file = Path(folder) / "job.json", Path(folder) / "tampering.json"
            job_file.write_bytes(msgspec.json.encode(job))
            tampering_file.write_bytes(msgspec.json.encode(tampering or Tampering()))
            program = ["-m", "scenes.render", str(job_file)]
            if tampering:
                program = [str(HELPERS / "tampered_render.py"), str(job_file), str(tampering_file)]
            subprocess.run([sys.executable, *program], cwd=ROOT, check=True)
        if mode == "stills":
            _film_the_stills(out)


def read_clip(folder: Path) -> ledger.Clip:
    """Read a clip's ledger."""
    return msgspec.json.decode((folder / "clip.json").read_bytes(), type=ledger.Clip)


def make_deck(folder: Path, set_dir: Path, clips: Sequence[str]) -> Path:
    """Make a film and a manifest from the clips that were drawn into ``folder / "clips"``."""
    trace_set = load_set(set_dir)
    records = {name: read_clip(folder / "clips" / name) for name in clips}
    starts = _film(folder, records)
    slides = []
    for name, record in records.items():
        built = BuiltClip(name, record.unit_hash, f"clips/{name}", "", starts[name], [HOLD_FRAMES] * len(record.pauses))
        claim = title(SLIDES[name], trace_set)
        slides.append(BuiltSlide(SLIDES[name], "part", "clip", claim.text, claim.outcome, 1.0, "", built))
    first = next(iter(records.values()))
    deck = Deck(
        DECK_VERSION, trace_set.name, str(set_dir), "", {}, first.fps, first.width_px, first.height_px, slides,
        [Output("deck.mp4", "", 0)],
    )  # fmt: skip
    (folder / "deck.json").write_bytes(msgspec.json.encode(deck))
    agree(folder)
    return folder


def agree(folder: Path) -> None:
    """Make every digest in the manifest agree with the files as they are now."""
    deck = json.loads((folder / "deck.json").read_bytes())
    set_dir = Path(deck["set_dir"])
    deck["set_sha256"] = digest((set_dir / "set.json").read_bytes())
    deck["traces"] = dict(load_set(set_dir).sha256)
    for output in deck["outputs"]:
        data = (folder / output["file"]).read_bytes()
        output |= {"sha256": digest(data), "num_bytes": len(data)}
    for slide in (slide for slide in deck["slides"] if slide["clip"]):
        file = folder / slide["clip"]["folder"] / "clip.json"
        clip = json.loads(file.read_bytes())
        for source in clip["sources"]:
            source["sha256"] = deck["traces"][source["experiment"]]
        file.write_bytes(canonical_json(clip))
        slide["clip"]["clip_sha256"] = digest(file.read_bytes())
    (folder / "deck.json").write_bytes(msgspec.json.encode(deck))


def edit_clip(folder: Path, clip: str, change: Callable[[dict[str, Any]], None]) -> None:
    """Change a clip's ledger, and let every digest agree again."""
    file = folder / "clips" / clip / "clip.json"
    value = json.loads(file.read_bytes())
    change(value)
    file.write_bytes(canonical_json(value))
    agree(folder)


def copy_deck(deck: Path, folder: Path) -> Path:
    """Copy a deck together with its trace set, so that both can be changed."""
    shutil.copytree(deck, folder)
    manifest = json.loads((folder / "deck.json").read_bytes())
    own_set = folder / "sets" / Path(manifest["set_dir"]).name
    shutil.copytree(manifest["set_dir"], own_set)
    (folder / "deck.json").write_bytes(canonical_json(manifest | {"set_dir": str(own_set)}))
    return folder


def set_of(deck: Path) -> Path:
    """Return the folder of a deck's trace set."""
    return Path(json.loads((deck / "deck.json").read_bytes())["set_dir"])


def edit_trace(set_dir: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change the set's one experiment, and let its digest agree again."""
    header = json.loads((set_dir / "set.json").read_bytes())
    ((name, _),) = header["files"].items()
    value = json.loads((set_dir / name).read_bytes())
    change(value)
    (set_dir / name).write_bytes(canonical_json(value))
    header["files"][name] = digest((set_dir / name).read_bytes())
    (set_dir / "set.json").write_bytes(canonical_json(header))


def _film_the_stills(folder: Path) -> None:
    """Give a clip that was drawn as stills a film of one frame for each."""
    clip = read_clip(folder)
    segments = []
    for index, pause in enumerate(clip.pauses):
        file = f"segment_{index}.mp4"
        writer = SegmentWriter(folder / file, clip.width_px, clip.height_px, clip.fps)
        with Image.open(folder / pause.still) as image:
            writer.show(np.asarray(image.convert("RGBA")), None)
        segments.append(ledger.Segment(file, "", writer.close(), [], ""))
        segments[-1] = msgspec.structs.replace(segments[-1], sha256=digest((folder / file).read_bytes()))
    (folder / "clip.json").write_bytes(canonical_json(msgspec.structs.replace(clip, segments=segments)))


def _film(folder: Path, records: Mapping[str, ledger.Clip]) -> dict[str, list[int]]:
    """Join the segments without decoding them; each pause's picture is held. Return where each segment begins."""
    starts: dict[str, list[int]] = {}
    start = 0
    with av.open(str(folder / "deck.mp4"), "w") as film:
        stream = None
        for name, record in records.items():
            for segment in record.segments:
                starts.setdefault(name, []).append(start)
                with av.open(str(folder / "clips" / name / segment.file)) as source:
                    if stream is None:
                        stream = film.add_stream_from_template(source.streams.video[0])
                    for packet in source.demux(video=0):
                        if packet.dts is not None:
                            offset = round(start / record.fps / packet.time_base)
                            packet.pts, packet.dts, packet.stream = packet.pts + offset, packet.dts + offset, stream
                            film.mux(packet)
                start += segment.num_frames + HOLD_FRAMES
    return starts

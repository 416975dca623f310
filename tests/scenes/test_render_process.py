"""``python -m scenes.render``: a job in, a folder out, and one line when it cannot be done."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from scenes import ledger

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]

CLIP = """
from scenes.render.animations import Appear
from scenes.render.labels import Label
from scenes.render.metrics import TextStyle
from scenes.render.scene import ClipScene

class Tiny(ClipScene):
    def construct(self):
        subject = self.source("hook", "e23", "A")
        label = Label(self.job.titles["tiny"], 96, 112, TextStyle("text", 64, 600, self.theme.colour.text))
        self.play(Appear(label, 0.2))
        self.pause("one", alt=subject.request.id)
        self.wait(1)
        self.pause("two")
"""

RUNNER = """
import sys
from scenes.clips import registry
from scenes.render.__main__ import main
registry.CLIPS["tiny"] = "tiny_clip:Tiny"
sys.exit(main(sys.argv[1:]))
"""


@dataclass
class Place:
    """A home, a working folder and a job, all new."""

    folder: Path
    job: dict

    @property
    def out(self) -> Path:
        """Where the clip goes."""
        return Path(self.job["out_dir"])

    def run(self, *options: str, job: dict | None = None) -> subprocess.CompletedProcess[str]:
        """Run the renderer with this job, or with parts of it replaced."""
        file = self.folder / "job.json"
        file.write_text(json.dumps(self.job | (job or {})))
        environment = {
            "HOME": str(self.folder / "home"), "PATH": os.environ["PATH"], "TMPDIR": str(self.folder / "tmp"),
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(self.folder)]), "PYTHONDONTWRITEBYTECODE": "1",
        }  # fmt: skip
        command = [sys.executable, str(self.folder / "runner.py"), str(file), *options]
        return subprocess.run(
            command, cwd=self.folder / "cwd", env=environment, capture_output=True, text=True, check=False
        )


@pytest.fixture
def place(tmp_path, fonts_dir, set_dir) -> Place:
    """A place whose path holds a space, an apostrophe and an accent."""
    folder = tmp_path / "it's an é"
    for name in ("home", "cwd", "tmp", "out"):
        (folder / name).mkdir(parents=True)
    (folder / "tiny_clip.py").write_text(CLIP)
    (folder / "runner.py").write_text(RUNNER)
    job = {
        "clip": "tiny", "set_dir": str(set_dir), "theme_file": str(ROOT / "slides" / "theme.toml"),
        "fonts_dir": str(fonts_dir), "label_cache_dir": str(folder / "labels"), "out_dir": str(folder / "out"),
        "titles": {"tiny": "It took <2.61 s> & more"}, "height_px": 270, "unit_hash": "ab12",
    }  # fmt: skip
    return Place(folder, job)


def test_a_job_becomes_a_clip_folder(place):
    """Segments, stills, bitmaps and clip.json are there, nothing is said, and nothing is written elsewhere."""
    done = place.run()
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    clip = msgspec.json.decode((place.out / "clip.json").read_bytes(), type=ledger.Clip)
    assert (clip.clip, clip.unit_hash, [pause.name for pause in clip.pauses]) == ("tiny", "ab12", ["one", "two"])
    assert clip.pauses[0].texts[0].text == "It took <2.61 s> & more"
    assert [source.request for source in clip.sources] == [clip.pauses[0].alt]
    named = {segment.file for segment in clip.segments} | {pause.still for pause in clip.pauses}
    named |= {text.bitmap for pause in clip.pauses for text in pause.texts}
    assert {path.name for path in place.out.iterdir()} == named | {"clip.json"}
    assert not any(list((place.folder / name).iterdir()) for name in ("home", "cwd", "tmp"))


def test_the_users_manim_settings_change_nothing(place):
    """A manim.cfg in the working folder or at home is not heeded."""
    place.run()
    plain = (place.out / "clip.json").read_bytes()
    settings = "[CLI]\nquality = low_quality\nbackground_color = RED\nrenderer = opengl\nupto_animation_number = 0\n"
    (place.folder / "home" / ".config" / "manim").mkdir(parents=True)
    for folder in (place.folder / "cwd", place.folder / "home" / ".config" / "manim"):
        (folder / "manim.cfg").write_text(settings)
    done = place.run()
    assert (done.returncode, done.stderr) == (0, "")
    assert (place.out / "clip.json").read_bytes() == plain


def test_progress_is_plain_lines(place):
    """With --progress each segment is a line; mode stills says it of its pauses."""
    assert place.run("--progress").stdout == "tiny segment 1\ntiny segment 2\n"


def test_labels_come_from_the_cache_the_second_time(place):
    """A second render of the same job writes no new mask and the same clip, byte for byte."""
    place.run()
    masks = {path: path.stat().st_mtime_ns for path in (place.folder / "labels").iterdir()}
    first = (place.out / "clip.json").read_bytes()
    assert place.run().returncode == 0
    assert masks == {path: path.stat().st_mtime_ns for path in (place.folder / "labels").iterdir()}
    assert (place.out / "clip.json").read_bytes() == first


@pytest.mark.parametrize(("change", "code", "words"), [
    ({"titles": {"tiny": "fast 🚀"}}, 2, ["'fast 🚀'", "U+1F680"]),
    ({"clip": "none"}, 2, ["no clip 'none'", "tiny"]),
    ({"set_dir": "/nowhere"}, 2, ["/nowhere/set.json", "spanreel profile"]),
    ({"fonts_dir": "/nowhere"}, 4, ["/nowhere", "make deck"]),
    ({"theme_file": "/nowhere.toml"}, 2, ["/nowhere.toml"]),
    ({"mode": "gif"}, 2, ["gif"]),
    ({"titles": {}}, 1, ["clip tiny", "KeyError"]),
])  # fmt: skip
def test_a_failure_is_one_line_and_leaves_no_clip(place, change, code, words):
    """What is wrong with a job is said in one line with its value, the exit code tells whose fault it is."""
    done = place.run(job=change)
    assert done.returncode == code
    assert len(done.stderr.strip().splitlines()) == 1
    for word in words:
        assert word in done.stderr
    assert not (place.out / "clip.json").exists()


def test_usage(place):
    """Without a job file, the usage is printed."""
    done = subprocess.run(
        [sys.executable, "-m", "scenes.render"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.startswith("usage:")

"""``spanreel build``, ``plan`` and ``render-unit`` as commands: what they print and how they refuse."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner
from PIL import Image

from build_kit import QUICK_RENDERER, quick_set
from spanreel import paths
from spanreel.build import Order
from spanreel.cli import group
from spanreel.render import Renderer


@pytest.fixture
def set_dir(tmp_path) -> Path:
    """A hand-made set."""
    return quick_set(tmp_path / "sets")


@pytest.fixture
def spanreel(tmp_path, monkeypatch):
    """Return a function that runs the command line with sketched clips and an output folder of its own."""
    monkeypatch.setattr(paths, "OUT", tmp_path / "out")
    monkeypatch.setattr(paths, "CACHE", tmp_path / "out" / ".cache")
    order = partial(Order, cache_dir=paths.CACHE, renderer=QUICK_RENDERER)
    monkeypatch.setattr("spanreel.commands.build.Order", order)
    monkeypatch.setattr("spanreel.commands.render_unit.Renderer", partial(Renderer, command=QUICK_RENDERER))
    return lambda *arguments: CliRunner().invoke(group, [str(argument) for argument in arguments])


def test_a_build_prints_each_file_with_its_size_and_how_to_open_it(spanreel, set_dir, tmp_path):
    """The files are where it says."""
    result = spanreel("build", "--set", set_dir, "-q", "draft")
    assert result.exit_code == 0, result.output
    for name in ("deck.html", "deck.mp4"):
        assert f"{tmp_path / 'out' / 'synthetic' / name}  " in result.stdout
        assert (tmp_path / "out" / "synthetic" / name).is_file()
    assert "nothing has changed" in spanreel("build", "--set", set_dir, "-q", "draft").stdout


def test_a_build_prints_one_object_as_json_and_nothing_when_quiet(spanreel, set_dir, tmp_path):
    """Standard output holds results alone."""
    printed = json.loads(spanreel("build", "--set", set_dir, "-f", "mp4", "--json").stdout)
    assert printed["ok"]
    assert not printed["unchanged"]
    assert "deck.mp4" in {output["file"] for output in printed["outputs"]}
    assert spanreel("build", "--set", set_dir, "-f", "mp4", "-o", tmp_path / "elsewhere", "--quiet").output == ""


def test_stills_are_named_in_order_and_shown_on_one_sheet(spanreel, set_dir, tmp_path):
    """Five pauses are five files; the sheet has room for all; its small copy suits a page."""
    assert spanreel("build", "--set", set_dir, "-f", "png").exit_code == 0
    folder = tmp_path / "out" / "synthetic"
    assert sorted(file.name for file in (folder / "stills").iterdir()) == [
        "01-grey-bar-1.png", "01-grey-bar-2.png", "01-grey-bar-3.png", "02-recap-1.png", "02-recap-2.png",
    ]  # fmt: skip
    with Image.open(folder / "contact-sheet.png") as sheet, Image.open(folder / "contact-sheet.webp") as small:
        assert sheet.size == small.size == (3 * 656 + 16, 2 * 376 + 16)
    assert (folder / "contact-sheet.webp").stat().st_size < 300_000
    assert not (folder / "deck.mp4").exists()


def test_one_clip_is_built_into_a_folder_of_its_own(spanreel, set_dir, tmp_path):
    """The whole deck is not touched."""
    assert spanreel("build", "--set", set_dir, "-f", "mp4", "--only", "a18").exit_code == 0
    deck = json.loads((tmp_path / "out" / "synthetic-only-a18" / "deck.json").read_text())
    assert [slide["id"] for slide in deck["slides"]] == ["recap"]
    assert not (tmp_path / "out" / "synthetic").exists()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["-f", "pdf"], "PDF comes in a later version"),
        (["--only", "a99"], "no clip 'a99' can be built from this set; clips: a00, a18"),
        (["-q", "best"], "Invalid value for '-q'"),
        (["-j", "0"], "Invalid value for '-j'"),
    ],
)
def test_what_cannot_be_built_is_refused_with_what_could(spanreel, set_dir, arguments, complaint):
    """Exit code 2, one reason, no traceback."""
    result = spanreel("build", "--set", set_dir, *arguments)
    assert result.exit_code == 2
    assert complaint in result.output
    assert "Traceback" not in result.output


def test_a_unit_is_drawn_alone_by_clip_or_by_hash(spanreel, set_dir):
    """The second time it is in the cache, and the plan says so."""
    first = spanreel("render-unit", "a00", "--set", set_dir, "-q", "draft")
    assert first.exit_code == 0, first.output
    folder = Path(first.stdout.strip())
    assert (folder / "clip.json").is_file()
    again = spanreel("render-unit", folder.name[:12], "--set", set_dir, "-q", "draft")
    assert again.output.strip() == str(folder)
    units = json.loads(spanreel("plan", "--set", set_dir, "-q", "draft", "--json").stdout)["units"]
    assert {unit["clip"]: unit["cached"] for unit in units} == {"a00": True, "a18": False}


def test_an_unknown_unit_names_the_plan(spanreel, set_dir):
    """Exit code 2."""
    result = spanreel("render-unit", "a0", "--set", set_dir)
    assert result.exit_code == 2
    assert "no unit 'a0' in the plan" in result.output

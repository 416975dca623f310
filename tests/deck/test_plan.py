"""The plan: a clip is drawn again when something that its pictures depend on changes, and not otherwise."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pytest
from click.testing import CliRunner

from build_kit import ROOT, quick_set
from scenes.clips.registry import CLIPS
from slides import claims
from slides.claims import Title
from spanreel import paths
from spanreel.commands.plan import command
from spanreel.plan import Look, drawable, plan_units, the_talk
from spanreel.sources import clip_sources, digest_files
from trace_factory import MS, make_experiment, make_run, make_set
from traces import load_set
from traces.storage import digest


@pytest.fixture
def set_dir(tmp_path):
    """A hand-made set."""
    return quick_set(tmp_path / "sets")


def hashes(set_dir, look=None) -> dict[str, str]:
    """Plan the talk on a set and return each clip's hash."""
    trace_set = load_set(set_dir)
    slides, _ = drawable(the_talk(), trace_set)
    return {unit.clip: unit.hash for unit in plan_units(slides, trace_set, look or Look())}


def test_the_same_inputs_give_the_same_hashes_wherever_the_set_lies(set_dir, tmp_path):
    """Neither the folder's path nor the files' times matter."""
    before = hashes(set_dir)
    moved = tmp_path / "another, place"
    shutil.copytree(set_dir, moved)
    for file in moved.iterdir():
        os.utime(file, (0, 0))
    assert hashes(moved) == before
    assert set(before) == {"a00", "a18"}


def test_a_changed_number_in_the_trace_changes_every_clip_of_it(set_dir, tmp_path):
    """One millisecond is enough."""
    changed = hashes(quick_set(tmp_path / "changed", prefill_ns=301 * MS))
    assert not set(changed.values()) & set(hashes(set_dir).values())


def test_another_experiment_in_the_set_changes_nothing(set_dir, tmp_path):
    """A clip depends on the experiments that it is drawn from, and on no other."""
    before = hashes(set_dir)
    header = json.loads((set_dir / "set.json").read_bytes())
    other = make_set(tmp_path / "other", make_experiment(make_run(tokens=2), request_id="r7"))
    (name,) = header["files"]
    text = (other / name).read_bytes().replace(b'"id":"e23"', b'"id":"e99"')
    (set_dir / "e99.json").write_bytes(text)
    header["files"]["e99.json"] = digest(text)
    (set_dir / "set.json").write_text(json.dumps(header))
    assert hashes(set_dir) == before


def test_a_changed_title_changes_the_clips_that_show_it(set_dir, monkeypatch):
    """The recap's title is shown by the recap alone."""
    before = hashes(set_dir)
    monkeypatch.setitem(claims.CLAIMS, "recap", lambda account: Title("Another title", True))
    after = hashes(set_dir)
    assert after["a00"] == before["a00"]
    assert after["a18"] != before["a18"]


def test_a_changed_colour_changes_every_clip(set_dir, tmp_path):
    """The theme is part of the picture."""
    theme = tmp_path / "theme.toml"
    theme.write_text(paths.THEME.read_text().replace('alert = "#DE5A2B"', 'alert = "#DE5A2C"'))
    assert not set(hashes(set_dir, Look(theme_file=theme)).values()) & set(hashes(set_dir).values())


def test_size_and_mode_are_part_of_the_hash(set_dir):
    """A draft, a still and a film are three units."""
    looks = [Look("hd"), Look("draft"), Look("hd", "stills")]
    assert len({hashes(set_dir, look)["a00"] for look in looks}) == 3


@pytest.fixture
def checkout(tmp_path):
    """A copy of the sources that draw."""
    for package in ("scenes", "traces"):
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__", "recorded"))
    return tmp_path


def source_digests(root) -> dict[str, str]:
    """Return the digest of each clip's sources."""
    return {clip: digest_files(clip_sources(name.partition(":")[0], root), root) for clip, name in CLIPS.items()}


@pytest.mark.parametrize(
    ("file", "changed"),
    [
        ("scenes/clips/a00_grey_bar.py", {"a00"}),
        ("scenes/clips/a18_recap.py", {"a18"}),
        ("scenes/clips/hook_picture.py", {"a00", "a18"}),
        ("scenes/grammar/bars.py", {"a18"}),
        ("scenes/parts/axis.py", {"a00", "a18"}),
        ("scenes/render/camera.py", {"a00", "a18"}),
        ("scenes/ledger.py", {"a00", "a18"}),
        ("traces/wording.py", {"a00", "a18"}),
        ("scenes/render/bench.py", set()),
    ],
)
def test_a_changed_source_changes_the_clips_that_import_it(checkout, file, changed):
    """Imports are followed through functions, packages and the renderer."""
    before = source_digests(checkout)
    with (checkout / file).open("a") as source:
        source.write("# changed\n")
    after = source_digests(checkout)
    assert {clip for clip in after if after[clip] != before[clip]} == changed


def test_a_set_without_the_experiment_leaves_its_slides_out_and_says_what_to_run(set_dir):
    """Nothing else is refused."""
    header = json.loads((set_dir / "set.json").read_bytes()) | {"files": {}}
    (set_dir / "set.json").write_text(json.dumps(header))
    shown, lines = drawable(the_talk(), load_set(set_dir))
    assert shown == []
    assert "slide recap is left out: set 'synthetic' has no experiment e23; record it with: spanreel profile" in lines


def test_the_plan_is_printed_as_json(set_dir):
    """One object, with each unit's hash."""
    result = CliRunner().invoke(command, ["--set", str(set_dir), "--json"])
    printed = json.loads(result.output)
    assert printed["ok"]
    assert {unit["clip"]: unit["hash"] for unit in printed["units"]} == hashes(set_dir)


def test_planning_imports_neither_manim_nor_torch(set_dir):
    """The plan is made from files and package metadata."""
    program = (
        "import sys; from click.testing import CliRunner; from spanreel.commands.plan import command\n"
        "result = CliRunner().invoke(command, ['--set', sys.argv[1]])\n"
        "assert result.exit_code == 0, result.output\n"
        "assert not {'manim', 'torch', 'numpy', 'av'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program, str(set_dir)], cwd=ROOT, check=True)


def test_a_missing_package_is_named_with_the_command_that_installs_it(set_dir, monkeypatch):
    """Without what draws there is no plan, and no traceback."""
    monkeypatch.setattr("spanreel.plan._PYTHON_PACKAGES", ("no-such-package",))
    result = CliRunner().invoke(command, ["--set", str(set_dir)])
    assert result.exit_code == 4
    assert "Python package no-such-package is missing; install it with: make deck" in result.output

"""A build: what stood there before stays whole, whatever happens to the build."""

from __future__ import annotations

import os
import re
import signal
import sys
import time
from pathlib import Path

import pytest

from build_kit import QUICK_RENDERER, contents, pausing_renderer, quick_build, quick_order, quick_set, start_build
from spanreel.build import build
from spanreel.deck import load_deck
from spanreel.errors import EnvironmentLackError, SpanreelError
from spanreel.report import Report
from trace_factory import MS

AWKWARD = "a, b's “déjà” & 100% #1"

BUILD = """
from pathlib import Path
from build_kit import quick_build
import spanreel.assemble, spanreel.build, spanreel.units
folder, set_dir, mark = Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3])
def stop(*arguments, **keywords):
    import time
    mark.write_text("reached")
    time.sleep(60)
"""
KILLED_AT = {
    "while drawing": "spanreel.units.UnitCache.publish = stop\n",
    "while the film is written": "spanreel.assemble.write_film = stop\n",
    "before the deck is moved": "spanreel.build.install = stop\n",
}


@pytest.fixture(scope="module")
def studio(tmp_path_factory) -> Path:
    """A folder with a first set, its deck, and a second set whose units are not drawn yet."""
    folder = tmp_path_factory.mktemp("studio")
    quick_build(folder, quick_set(folder / "sets", name="first"))
    quick_set(folder / "sets", prefill_ns=200 * MS, name="second")
    return folder


def wait_for(mark: Path, child) -> None:
    """Wait until a child has left its mark."""
    while not (mark.is_file() and mark.read_text()):
        assert child.poll() is None, child.communicate()[1]
        time.sleep(0.05)


def end(child) -> None:
    """End a child and all of its own."""
    os.killpg(child.pid, signal.SIGKILL)
    child.communicate()


@pytest.mark.slow
@pytest.mark.parametrize("patch", KILLED_AT.values(), ids=KILLED_AT)
def test_a_killed_build_leaves_the_former_deck_byte_for_byte(studio, tmp_path, patch):
    """SIGKILL at three moments; then the next build works."""
    folder = tmp_path / "studio"
    former = quick_build(folder, studio / "sets" / "first", cache_dir=studio / "cache")
    before = contents(former.folder)
    program = BUILD + patch + "quick_build(folder, set_dir)"
    child = start_build(program, folder, studio / "sets" / "second", tmp_path / "mark")
    wait_for(tmp_path / "mark", child)
    end(child)
    after = contents(former.folder)
    after.setdefault(".inputs", before[".inputs"])
    assert after == before
    built = quick_build(folder, studio / "sets" / "second")
    assert built.deck.set == "second"
    assert not list((folder / "cache" / "staging").iterdir())
    assert not (folder / "deck" / ".staging").exists()


@pytest.mark.slow
def test_a_build_killed_while_files_are_moved_is_repaired_by_the_next(studio, tmp_path):
    """A folder with files of two decks never counts as built."""
    quick_build(tmp_path, studio / "sets" / "first", cache_dir=studio / "cache")
    clean = quick_build(tmp_path / "clean", studio / "sets" / "second", cache_dir=studio / "cache")
    patch = (
        "import os; move = os.replace; count = []\n"
        "def replace(source, target):\n"
        "    if '.staging' in str(source) and len(count) == 5: stop()\n"
        "    count.append(1); move(source, target)\n"
        "os.replace = replace\n"
    )
    program = BUILD + patch + "quick_build(folder, set_dir, cache_dir=Path(sys.argv[4]))"
    child = start_build(program, tmp_path, studio / "sets" / "second", tmp_path / "mark", studio / "cache")
    wait_for(tmp_path / "mark", child)
    end(child)
    built = quick_build(tmp_path, studio / "sets" / "second", cache_dir=studio / "cache")
    assert not built.unchanged
    assert contents(built.folder) == contents(clean.folder)


@pytest.mark.slow
def test_interrupting_a_build_ends_the_processes_that_draw(studio, tmp_path):
    """Ctrl-C reaches the build; no process goes on drawing."""
    mark = tmp_path / "mark"
    program = BUILD + "quick_build(folder, set_dir, renderer=eval(sys.argv[4]))"
    child = start_build(program, tmp_path, studio / "sets" / "second", mark, pausing_renderer(mark))
    wait_for(mark, child)
    os.kill(child.pid, signal.SIGINT)
    assert "KeyboardInterrupt" in child.communicate()[1]
    for pid in mark.read_text().split():
        assert not Path(f"/proc/{pid}").exists()
    assert not (tmp_path / "deck" / "deck.json").exists()


@pytest.mark.slow
def test_a_second_build_in_the_same_folder_names_the_first(studio, tmp_path):
    """It waits a while, then says whose turn it is."""
    mark = tmp_path / "mark"
    program = BUILD + "quick_build(folder, set_dir, renderer=eval(sys.argv[4]))"
    child = start_build(program, tmp_path, studio / "sets" / "second", mark, pausing_renderer(mark))
    try:
        wait_for(mark, child)
        with pytest.raises(EnvironmentLackError, match=f"process {child.pid} is building"):
            quick_build(tmp_path, studio / "sets" / "first", cache_dir=studio / "cache", lock_wait_s=0.2)
    finally:
        end(child)


def test_the_same_inputs_give_the_same_bytes(studio, tmp_path):
    """Two folders, two caches, one deck; the second time nothing has changed."""
    decks = [quick_build(tmp_path / name, studio / "sets" / "first") for name in ("one", AWKWARD)]
    assert contents(decks[0].folder) == contents(decks[1].folder)
    assert quick_build(tmp_path / "one", studio / "sets" / "first").unchanged


def test_a_file_that_was_changed_by_hand_is_made_again(studio, tmp_path):
    """A deck counts as built only while every file is as it was written."""
    built = quick_build(tmp_path, studio / "sets" / "first", cache_dir=studio / "cache")
    before = contents(built.folder)
    film = built.folder / "deck.mp4"
    film.write_bytes(film.read_bytes()[:-1])
    assert not quick_build(tmp_path, studio / "sets" / "first", cache_dir=studio / "cache").unchanged
    assert contents(built.folder) == before


@pytest.mark.parametrize("file", ["segment_1.mp4", "still_0.png", "clip.json", "text_title.png"])
def test_a_damaged_unit_is_drawn_again(studio, tmp_path, capsys, file):
    """One flipped bit anywhere in the cache is found before the unit is used, and mentioned."""
    built = quick_build(tmp_path, studio / "sets" / "first")
    before = contents(built.folder)
    damaged = tmp_path / "cache" / "units" / built.deck.slides[1].clip.unit_hash / file
    data = bytearray(damaged.read_bytes())
    data[len(data) // 2] ^= 1
    damaged.write_bytes(bytes(data))
    (built.folder / "deck.json").unlink()
    capsys.readouterr()
    quick_build(tmp_path, studio / "sets" / "first")
    assert re.search("clip a00: the cached unit is damaged .* drawing it again", capsys.readouterr().err)
    assert contents(built.folder) == before


def test_the_manifest_describes_the_deck(studio):
    """Slides in order, claims, notes filled from the trace, and a digest of every file."""
    deck = load_deck(studio / "deck")
    assert [(slide.id, slide.claim, bool(slide.clip)) for slide in deck.slides] == [
        ("call", "none", False), ("grey-bar", "holds", True), ("recap", "holds", True),
    ]  # fmt: skip
    assert all(slide.title and slide.notes for slide in deck.slides)
    listed = {output.file for output in deck.outputs}
    assert listed == contents(studio / "deck").keys() - {"deck.json", ".inputs"}
    assert not [file for file in listed if "segment" in file]


def test_stills_join_the_film_that_is_already_there(studio, tmp_path):
    """Asking for stills does not make the manifest forget the film; without one, no film is drawn."""
    first = studio / "sets" / "first"
    quick_build(tmp_path, first, cache_dir=studio / "cache")
    both = quick_build(tmp_path, first, cache_dir=studio / "cache", formats=("png",))
    files = {output.file for output in both.deck.outputs}
    assert {"deck.mp4", "contact-sheet.png", "stills/01-grey-bar-1.png", "stills/02-recap-1.png"} <= files
    alone = quick_build(tmp_path / "alone", first, formats=("png",))
    assert "deck.mp4" not in {output.file for output in alone.deck.outputs}


def test_a_clip_that_cannot_be_drawn_says_why(studio, tmp_path):
    """The last words of the process that draws are passed on with its exit code, and nothing is left."""
    renderer = (sys.executable, "-c", "import sys; sys.exit('no such font') or 4")
    with pytest.raises(SpanreelError, match=r"clip a\d+ was not drawn: no such font") as failed:
        build(quick_order(tmp_path, studio / "sets" / "first", renderer=renderer), Report(quiet=True))
    assert failed.value.exit_code == 1
    assert not (tmp_path / "deck" / "deck.json").exists()
    assert not list((tmp_path / "cache" / "staging").iterdir())


@pytest.mark.parametrize("code", [2, 4])
def test_the_exit_code_of_a_failed_drawing_is_passed_on(studio, tmp_path, code):
    """Bad input stays bad input, and a lack stays a lack."""
    renderer = (sys.executable, "-c", f"import sys; sys.exit({code})")
    with pytest.raises(SpanreelError) as failed:
        build(quick_order(tmp_path, studio / "sets" / "first", renderer=renderer), Report(quiet=True))
    assert failed.value.exit_code == code


def test_a_renderer_that_writes_too_few_frames_is_found_out(studio, tmp_path):
    """Segments are opened and counted before they are used."""
    shortened = tmp_path / "shortened.py"
    shortened.write_text(
        "import json, subprocess, sys\n"
        "from pathlib import Path\n"
        f"subprocess.run([sys.executable, {QUICK_RENDERER[1]!r}, sys.argv[1]], check=True)\n"
        "file = Path(json.loads(Path(sys.argv[1]).read_text())['out_dir']) / 'clip.json'\n"
        "clip = json.loads(file.read_text())\n"
        "clip['segments'][0]['num_frames'] += 1\n"
        "file.write_text(json.dumps(clip))\n"
    )
    renderer = (sys.executable, str(shortened))
    with pytest.raises(SpanreelError, match=r"segment_0\.mp4 has \d+ frames, the ledger says"):
        build(quick_order(tmp_path, studio / "sets" / "first", renderer=renderer), Report(quiet=True))

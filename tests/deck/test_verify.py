"""``verify`` on decks drawn by the real renderer: an honest one passes, each kind of sabotage is called by its name."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deck_kit import ROOT, Studio, agree, copy_deck, edit_clip, edit_trace, make_deck, set_of
from scenes.render.fonts import prepare_fonts
from spanreel.verify.decks import verify_deck
from spanreel.verify.faults import Fault
from tampered_render import Tampering
from trace_factory import MS, make_experiment, make_run, make_set

pytestmark = pytest.mark.slow

CLIPS = ("a00", "a18")


@pytest.fixture(scope="module")
def studio(tmp_path_factory) -> Studio:
    """Typefaces and labels for all decks of this module."""
    folder = tmp_path_factory.mktemp("studio")
    prepare_fonts(ROOT / "node_modules", folder / "fonts")
    return Studio(folder, folder / "fonts")


@pytest.fixture(scope="module")
def trace_dir(tmp_path_factory) -> Path:
    """A request of four tokens that takes about a second."""
    run = make_run(tokens=4, prefill_ns=500 * MS, decode_ns=150 * MS)
    return make_set(tmp_path_factory.mktemp("sets"), make_experiment(run))


@pytest.fixture(scope="module")
def honest(studio, trace_dir, tmp_path_factory) -> Path:
    """A deck of the hook, filmed, and of the recap, as stills. Not to be changed."""
    folder = tmp_path_factory.mktemp("honest")
    studio.render("a00", trace_dir, folder / "clips" / "a00", mode="film")
    studio.render("a18", trace_dir, folder / "clips" / "a18")
    return make_deck(folder, trace_dir, CLIPS)


@pytest.fixture
def deck(honest, tmp_path) -> Path:
    """A copy of the honest deck and its set, to be changed."""
    return copy_deck(honest, tmp_path / "deck")


@pytest.fixture
def redrawn(honest, studio, trace_dir, tmp_path) -> Callable[..., Path]:
    """Return a function that gives the honest deck another picture under the honest ledger."""

    def redraw(clip: str, how: Tampering, mode: str = "stills") -> Path:
        folder = tmp_path / "redrawn"
        shutil.copytree(honest, folder)
        own = folder / "clips" / clip
        ledger = (own / "clip.json").read_bytes()
        shutil.rmtree(own)
        studio.render(clip, trace_dir, own, tampering=how, mode=mode)
        drawn = json.loads((own / "clip.json").read_bytes())
        stated = json.loads(ledger)
        for kept, new in zip(stated["pauses"], drawn["pauses"], strict=True):
            kept["still_sha256"] = new["still_sha256"]
            for text, drawn_text in zip(kept["texts"], new["texts"], strict=True):
                text.update(bitmap=drawn_text["bitmap"], box_px=drawn_text["box_px"])
        (own / "clip.json").write_bytes(msgspec.json.encode(stated))
        return make_deck(folder, trace_dir, CLIPS)

    return redraw


def faults_of(folder: Path, kind: str) -> list[Fault]:
    """Return the faults of a kind; that there are others too is fine, that verify says ok is not."""
    report = verify_deck(folder)
    assert report.ok == (not report.faults)
    return [fault for fault in report.faults if fault.kind == kind]


def run_verify(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run the verb in a process of its own."""
    command = [sys.executable, "-m", "spanreel", "verify", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_an_untouched_deck_passes(honest) -> None:
    """Every bar is bound and within a pixel, every text is true, and the object has exactly the stated fields."""
    done = run_verify(honest, "--json")
    assert done.returncode == 0, done.stdout
    report = json.loads(done.stdout)
    assert list(report) == [
        "set", "clips", "bars", "bound", "markers", "max_px_error", "max_frame_error", "texts", "text_faults",
        "claims", "hashes_ok", "ok", "faults",
    ]  # fmt: skip
    assert (report["ok"], report["hashes_ok"], report["faults"]) == (True, True, [])
    assert report["clips"] == 2
    assert report["bars"] == report["bound"] > 100
    assert report["max_px_error"] <= 1
    assert report["claims"] == {"hold": 2, "countered": 0}


def test_what_the_build_makes_passes_until_its_page_is_changed(trace_dir, tmp_path) -> None:
    """The real build's film and page agree with the trace; a segment exchanged inside the page does not."""
    build = [sys.executable, "-m", "spanreel", "build", "--set", str(trace_dir), "-o", str(tmp_path), "--quiet"]
    done = subprocess.run(build, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert run_verify(tmp_path).returncode == 0
    page = tmp_path / "deck.html"
    start = page.read_bytes().index(b'data-file="a00/segment_1.mp4"')
    with page.open("r+b") as file:
        file.seek(start + 3000)
        file.write(b"AAAAAAAA")
    agree(tmp_path)
    (fault,) = faults_of(tmp_path, "hash")
    assert "as segment_1.mp4" in fault.found


def test_spans_too_thin_to_read_are_listed(honest) -> None:
    """A sliver of 0.4 ms is named with its duration, not widened."""
    listed = {marker.get("binding"): marker for marker in verify_deck(honest).markers}
    assert listed["r7/route/0"]["duration_ns"] == 400_000


def test_without_a_deck_the_next_step_is_named(tmp_path) -> None:
    """An empty folder exits 2 in one line that names the build."""
    done = run_verify(tmp_path)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "spanreel build" in done.stderr


def test_the_summary_says_what_is_wrong_and_what_to_do(deck) -> None:
    """Without JSON the faults are counted by kind, in plain words, and the exit code is 3."""
    (deck / "clips" / "a00" / "still_1.png").write_bytes(b"nothing")
    done = run_verify(deck)
    assert done.returncode == 3
    assert "hash: 1 × a file is not the one that was built; build again with: spanreel build" in done.stdout
    assert "clips/a00/still_1.png" in done.stdout


def test_a_changed_film_is_a_hash_fault(deck) -> None:
    """One byte of the film's tail is enough."""
    film = deck / "deck.mp4"
    film.write_bytes(film.read_bytes() + b"\0")
    assert [fault.mark for fault in faults_of(deck, "hash")] == ["deck.mp4"]


def test_a_changed_trace_file_is_a_hash_fault(deck) -> None:
    """A number that changed under the set's old digest is noticed before anything is compared."""
    file = set_of(deck) / "e23-one-request.json"
    file.write_bytes(file.read_bytes().replace(b"500000000", b"500000001", 1))
    assert "e23-one-request.json" in faults_of(deck, "hash")[0].found


def test_another_valid_trace_under_the_same_name_is_stale(deck) -> None:
    """A set that was recorded anew under its old name is not what was drawn."""
    shutil.rmtree(set_of(deck))
    make_set(set_of(deck).parent, make_experiment(make_run(tokens=4, prefill_ns=501 * MS, decode_ns=150 * MS)))
    assert {fault.mark for fault in faults_of(deck, "stale")} >= {"synthetic/set.json", "experiment e23"}


def test_a_number_changed_in_the_trace_is_a_binding_fault(deck) -> None:
    """With all digests made to agree, the ledger still says the old duration."""
    edit_trace(set_of(deck), lambda trace: _steps(trace)["forward_ns"].__setitem__(2, 149_000_000))
    agree(deck)
    assert any("r7/decode/0" in fault.mark for fault in faults_of(deck, "binding"))


def test_a_ledger_edge_moved_by_three_pixels_is_an_edge_fault(deck) -> None:
    """What the ledger says is held to trace and scale, even where the picture is right."""
    edit_clip(deck, "a18", lambda clip: _mark(clip, "lane/r7/prefill/0").update(x1_px=_x1(clip) + 3))
    assert {fault.mark for fault in faults_of(deck, "edge")} == {"lane/r7/prefill/0"}


def test_a_bar_that_claims_to_be_unreadable_is_read_all_the_same(redrawn) -> None:
    """A wide bar is held to its span whether the ledger offers it for reading or not."""
    folder = redrawn("a18", Tampering(shift_px={"lane/r7/prefill/0": 3.0}))
    edit_clip(folder, "a18", lambda clip: [m.update(readable=False) for m in _marks(clip, "lane/r7/prefill/0")])
    assert {fault.mark for fault in faults_of(folder, "edge")} == {"lane/r7/prefill/0"}


def test_a_clip_that_is_not_in_the_film_is_missing(deck) -> None:
    """The manifest must say where each segment begins."""
    manifest = json.loads((deck / "deck.json").read_bytes())
    manifest["slides"][1]["clip"]["first_frames"] = []
    (deck / "deck.json").write_bytes(msgspec.json.encode(manifest))
    assert [fault.clip for fault in faults_of(deck, "missing")] == ["a18"]


def test_a_ledger_that_makes_no_sense_is_refused_without_a_crash(deck) -> None:
    """Boxes off the page, and an axis without ticks, are faults like others."""

    def spoil(clip: dict[str, Any]) -> None:
        clip["pauses"][0]["axes"][0]["ticks"] = []
        _mark(clip, "lane/r7/prefill/0").update(x1_px=-5)
        _texts(clip, "question")[0].update(box_px=[5000, 0, 6000, 10])

    edit_clip(deck, "a18", spoil)
    assert {fault.kind for fault in verify_deck(deck).faults} >= {"scale", "edge", "text"}


def test_a_bar_bound_to_a_span_of_nearly_the_same_length_is_noticed(deck) -> None:
    """A decode step that claims to be its neighbour leaves one span twice and one without a bar."""

    def rebind(clip: dict[str, Any]) -> None:
        for mark in _marks(clip, "lane/r7/decode/1"):
            start = next(m["start_ns"] for m in _marks(clip, "lane/r7/decode/2"))
            mark.update(binding="r7/decode/2", start_ns=start)

    edit_clip(deck, "a18", rebind)
    report = verify_deck(deck)
    assert any("r7/decode/2 is also bar" in fault.found for fault in report.faults if fault.kind == "binding")
    assert any(fault.mark == "lane/r7/decode/1" for fault in report.faults if fault.kind == "edge")


def test_a_span_without_a_bar_is_missing(deck) -> None:
    """A mark taken out of the ledger leaves its span without a bar, and its picture without a mark."""

    def drop(clip: dict[str, Any]) -> None:
        for pause in clip["pauses"]:
            pause["marks"] = [mark for mark in pause["marks"] if not mark["id"].endswith("r7/prefill/0")]

    edit_clip(deck, "a18", drop)
    report = verify_deck(deck)
    assert any(fault.mark == "r7/prefill/0" for fault in report.faults if fault.kind == "missing")
    assert any(fault.kind == "ink" for fault in report.faults)


def test_bars_at_another_scale_than_the_axis_are_a_scale_fault(redrawn) -> None:
    """Half a percent is seven pixels at the end of the plot, and proportional to time."""
    found = faults_of(redrawn("a18", Tampering(bar_scale=1.005)), "scale")
    assert any("times the axis's scale" in fault.found for fault in found)


def test_a_bar_drawn_three_pixels_further_is_an_edge_fault(redrawn) -> None:
    """The ledger is untouched; the picture is not."""
    folder = redrawn("a18", Tampering(shift_px={"lane/r7/prefill/0": 3.0}))
    found = faults_of(folder, "edge")
    assert {fault.mark for fault in found} == {"lane/r7/prefill/0"}


@pytest.mark.parametrize(
    "box", [(1300.0, 520.0, 1360.0, 572.0), (1500.0, 576.0, 1506.0, 632.0), (1300.0, 960.0, 1304.0, 964.0)]
)
def test_a_bar_without_an_entry_is_ink(redrawn, box) -> None:
    """A bar between the lanes, a thin one in a lane, and a speck of 16 px² in the open are all found."""
    folder = redrawn("a18", Tampering(stray_bar_px=box))
    assert faults_of(folder, "ink")


@pytest.mark.parametrize("pace", ["eased", "sudden"])
def test_growth_that_is_not_linear_is_a_motion_fault(redrawn, pace) -> None:
    """Begin and end are right; only the frames between them are not."""
    report = verify_deck(redrawn("a00", Tampering(pace=pace), mode="film"))
    assert {fault.kind for fault in report.faults} == {"motion"}
    assert report.max_frame_error > 1


def test_texts_fainter_than_stated_are_a_text_fault(redrawn) -> None:
    """The words are right, and half as bright as the ledger says."""
    found = faults_of(redrawn("a00", Tampering(faint=0.5)), "text")
    assert found
    assert all("of the stated contrast" in fault.found for fault in found)


@pytest.mark.parametrize("words", ["prefill  501 ms", "prefill  600 ms", "prefill  500 µs"])
def test_other_words_on_the_picture_are_a_text_fault(redrawn, words) -> None:
    """One digit or one letter is enough."""
    folder = redrawn("a18", Tampering(words={"lane-names/prefill": words}))
    assert {fault.mark for fault in faults_of(folder, "text")} == {"lane-names/prefill"}


def test_a_bitmap_that_says_another_number_is_a_label_fault(redrawn) -> None:
    """Picture and bitmap agree on 501 ms; the bitmap's figures are read, and the trace says 500."""
    folder = redrawn("a18", Tampering(words={"lane-names/prefill": "prefill  501 ms"}, bitmaps_too=True))
    found = faults_of(folder, "label")
    assert {(fault.mark, fault.found) for fault in found} == {("lane-names/prefill", "its bitmap shows 1 for a 0")}


def test_a_label_that_says_another_number_is_a_label_fault(deck) -> None:
    """The text is filled again from the trace: 499 ms on a span of 500 does not pass."""
    edit_clip(deck, "a18", lambda clip: [t.update(text="prefill  499 ms") for t in _texts(clip, "lane-names/prefill")])
    found = faults_of(deck, "label")
    assert found
    assert found[0].expected == "'prefill  500 ms'"


def test_a_number_bound_to_nothing_is_a_label_fault(deck) -> None:
    """A text whose template holds the number as letters passes no trace."""

    def type_it(clip: dict[str, Any]) -> None:
        for text in _texts(clip, "lane-names/prefill"):
            text.update(template="prefill  500 ms", values=[])

    edit_clip(deck, "a18", type_it)
    assert "bound to nothing" in faults_of(deck, "label")[0].found


def test_a_title_that_claims_something_else_is_a_claim_fault(deck) -> None:
    """Titles are made again from the trace, on the slide and in the picture."""
    manifest = json.loads((deck / "deck.json").read_bytes())
    manifest["slides"][0]["title"] = "0.95 s for 4 tokens. Where did it go?"
    (deck / "deck.json").write_bytes(msgspec.json.encode(manifest))
    edit_clip(deck, "a18", lambda clip: [t.update(text="All is well") for t in _texts(clip, "title-recap-0")])
    assert {fault.mark for fault in faults_of(deck, "claim")} == {"slide grey-bar", "title of recap"}


def test_a_lens_that_magnifies_otherwise_than_it_says_is_a_scale_fault(deck) -> None:
    """The factor is measured between the lens's frame and the axis."""
    edit_clip(deck, "a18", lambda clip: [a.update(factor=a["factor"] * 1.05) for p in clip["pauses"]
                                         for a in p["axes"] if a["kind"] == "lens"])  # fmt: skip
    assert any("it magnifies" in fault.found for fault in faults_of(deck, "scale"))


@settings(max_examples=3, deadline=None)
@given(step=st.integers(0, 1), factor=st.sampled_from([1.05, 1.37, 1.6]))
def test_a_longer_span_moves_exactly_its_edge(honest, studio, tmp_path_factory, step, factor) -> None:
    """A span that lasts longer, at its neighbour's cost: only the edges of the two are off."""
    folder = copy_deck(honest, tmp_path_factory.mktemp("longer") / "deck")
    edit_trace(set_of(folder), lambda trace: _lengthen(trace, 2 + step, factor))
    drawn = folder / "drawn"
    studio.render("a18", set_of(folder), drawn)
    claimed = json.loads((drawn / "clip.json").read_bytes())
    edit_clip(folder, "a18", lambda clip: [old.update(marks=new["marks"]) for old, new in
                                           zip(clip["pauses"], claimed["pauses"], strict=True)])  # fmt: skip
    moved = {fault.mark.partition("/")[2] for fault in verify_deck(folder).faults if " edge at " in fault.expected}
    assert moved == {f"r7/decode/{step}", f"r7/decode/{step + 1}"}


def _steps(trace: dict[str, Any]) -> dict[str, Any]:
    steps: dict[str, Any] = trace["arms"][0]["runs"][0]["steps"]
    return steps


def _lengthen(trace: dict[str, Any], step: int, factor: float) -> None:
    """Let a step's forward pass last longer and the next one's begin later and last shorter."""
    steps = _steps(trace)
    more = round(steps["forward_ns"][step] * (factor - 1))
    steps["forward_ns"][step] += more
    steps["start_ns"][step + 1] += more
    steps["forward_ns"][step + 1] -= more


def _marks(clip: dict[str, Any], mark_id: str) -> list[dict[str, Any]]:
    return [mark for pause in clip["pauses"] for mark in pause["marks"] if mark["id"] == mark_id]


def _mark(clip: dict[str, Any], mark_id: str) -> dict[str, Any]:
    return _marks(clip, mark_id)[0]


def _x1(clip: dict[str, Any]) -> float:
    x1: float = _mark(clip, "lane/r7/prefill/0")["x1_px"]
    return x1


def _texts(clip: dict[str, Any], text_id: str) -> list[dict[str, Any]]:
    return [text for pause in clip["pauses"] for text in pause["texts"] if text["id"] == text_id]

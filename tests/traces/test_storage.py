"""Trace sets on disk: what is written comes back, and what is broken is named."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from trace_factory import make_experiment, make_run, make_set
from traces import SCHEMA_VERSION, TraceError, TraceMismatchError, load_set, save_set
from traces.storage import canonical_json, digest

EXPERIMENT = "e23-one-request.json"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A small set on disk."""
    return make_set(tmp_path, make_experiment(make_run(tokens=3)))


def rewrite(folder: Path, change: Callable[[dict[str, Any]], None], name: str = EXPERIMENT) -> None:
    """Change a file's JSON and make the set's digests agree with it again."""
    value = json.loads((folder / name).read_bytes())
    change(value)
    (folder / name).write_bytes(canonical_json(value))
    if name != "set.json":
        rewrite(folder, lambda header: header["files"].update({name: digest((folder / name).read_bytes())}), "set.json")


def first_request(experiment: dict[str, Any]) -> dict[str, Any]:
    """Return the first request of the decoded file."""
    request: dict[str, Any] = experiment["arms"][0]["runs"][0]["requests"][0]
    return request


def test_a_set_comes_back_as_it_was_written(folder: Path) -> None:
    """Header, experiments and digests survive the disk."""
    loaded = load_set(folder)
    assert loaded.name == "synthetic"
    assert loaded.experiments == {"e23": make_experiment(make_run(tokens=3))}
    assert loaded.sha256["e23"] == digest((folder / EXPERIMENT).read_bytes())
    assert loaded.sha256["e23"].startswith(loaded.short_hash("e23"))


def test_equal_sets_are_equal_bytes(folder: Path, tmp_path: Path) -> None:
    """Writing what was loaded gives the same files, byte for byte, and the folder holds nothing else."""
    loaded = load_set(folder)
    save_set(tmp_path / "again", loaded.header, {EXPERIMENT: loaded.experiments["e23"]})
    again = {path.name: path.read_bytes() for path in (tmp_path / "again").iterdir()}
    assert again == {path.name: path.read_bytes() for path in folder.iterdir()}


def test_json_is_canonical() -> None:
    """Keys are sorted, no space is wasted, and the file ends in a newline."""
    assert canonical_json({"b": 1, "a": [1, 2]}) == b'{"a":[1,2],"b":1}\n'


@pytest.mark.parametrize("name", ["set.json", EXPERIMENT])
def test_another_schema_version_names_both(folder: Path, name: str) -> None:
    """The message holds the file's version, ours, and what to do."""
    rewrite(folder, lambda value: value.update(schema_version=SCHEMA_VERSION + 41), name)
    with pytest.raises(TraceError, match=rf"version {SCHEMA_VERSION + 41}.* reads {SCHEMA_VERSION}; record it again"):
        load_set(folder)


def test_a_file_that_is_no_trace_is_told_so(folder: Path) -> None:
    """JSON of something else has no version to complain about."""
    (folder / "set.json").write_text('{"name": "not ours"}')
    with pytest.raises(TraceError, match="not a trace file, it names no schema version"):
        load_set(folder)


def test_an_experiment_missing_from_the_set_is_named(folder: Path) -> None:
    """Asking for what was not recorded says how to record it."""
    with pytest.raises(TraceError, match="'synthetic' has no experiment 'e99'; record it with: spanreel profile"):
        load_set(folder).experiment("e99")


def test_a_missing_file_is_named(folder: Path) -> None:
    """A file that the header lists and the folder lacks is an error with its path."""
    (folder / EXPERIMENT).unlink()
    with pytest.raises(TraceError, match=rf"{EXPERIMENT}: No such file"):
        load_set(folder)


def test_a_file_cut_anywhere_is_refused(folder: Path) -> None:
    """No prefix of a trace file loads, and the message says which file it is."""
    whole = (folder / EXPERIMENT).read_bytes()
    for length in [*range(0, 64), *range(64, len(whole) - 1, 97), len(whole) - 2]:
        (folder / EXPERIMENT).write_bytes(whole[:length])
        with pytest.raises(TraceError, match=EXPERIMENT):
            load_set(folder)


def test_a_changed_number_is_noticed(folder: Path) -> None:
    """A well-formed file with another digest is a mismatch, which is its own class."""
    text = (folder / EXPERIMENT).read_text()
    (folder / EXPERIMENT).write_text(text.replace('"value_ns":2400000000', '"value_ns":2400000001'))
    with pytest.raises(TraceMismatchError, match="the file was changed"):
        load_set(folder)


def test_a_file_name_cannot_leave_the_set(folder: Path) -> None:
    """A header that points outside its folder is refused before anything is read."""
    rewrite(folder, lambda header: header.update(files={"../elsewhere.json": "0" * 64}), "set.json")
    with pytest.raises(TraceError, match="leaves the set"):
        load_set(folder)


@pytest.mark.parametrize("token", ["NaN", "Infinity", "1.5", "1e300", '"12"', "null", "99999999999999999999"])
def test_a_duration_that_is_not_an_integer_is_refused(folder: Path, token: str) -> None:
    """Nanoseconds are 64-bit integers; anything else names the file."""
    text = (folder / EXPERIMENT).read_text()
    broken = text.replace('"value_ns":2400000000', f'"value_ns":{token}')
    assert broken != text
    (folder / EXPERIMENT).write_text(broken)
    with pytest.raises(TraceError, match=EXPERIMENT):
        load_set(folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda e: e.update(surprise=1), "unknown field `surprise`"),
        (lambda e: first_request(e).update(surprise=1), "unknown field `surprise`"),
        (lambda e: e.pop("question"), "missing required field `question`"),
        (lambda e: e.update(arms=[]), "no arm"),
        (lambda e: e["span_types"].append(e["span_types"][0]), "listed twice"),
        (lambda e: first_request(e)["spans"][2].__setitem__(3, -5), "duration -5 ns"),
        (lambda e: first_request(e)["spans"][2].__setitem__(2, -5), "start -5"),
        (lambda e: first_request(e)["spans"][2].__setitem__(0, 99), "unknown type 99"),
        (lambda e: first_request(e)["spans"][2].__setitem__(0, -1), "unknown type -1"),
        (lambda e: first_request(e)["spans"][2].__setitem__(1, 99), "unknown parent 99"),
        (lambda e: first_request(e)["spans"][2].__setitem__(1, 2), "unknown parent 2"),
        (lambda e: first_request(e)["spans"][2].__setitem__(1, 0), "leaves its parent"),
        (lambda e: first_request(e)["spans"][2].__setitem__(3, 400_001), "1 ns before the one before it ends"),
        (lambda e: first_request(e)["tokens"]["step"].__setitem__(0, 99), "step 99, which does not exist"),
        (lambda e: first_request(e)["tokens"]["step"].__setitem__(0, 0), "step 0, which did not run it"),
        (lambda e: first_request(e)["tokens"]["sample_ns"].__setitem__(0, 10**12), "sample_ns goes backwards"),
        (lambda e: first_request(e)["tokens"]["recv_gap_ns"].__setitem__(1, -1), "received before"),
        (lambda e: first_request(e)["tokens"]["write_ns"].pop(), "token columns are not 3 long"),
        (lambda e: first_request(e)["token_texts"].pop(), "token texts are not 3"),
        (lambda e: first_request(e).update(intended_start_ns=-1), "negative intended start"),
        (lambda e: e["arms"][0]["exemplar"].update(request_id="r8"), "exemplar 'r8' of run 0"),
        (lambda e: e["arms"][0]["exemplar"].update(run=-1), "of run -1"),
        (lambda e: e["arms"][0]["runs"][0]["steps"]["plan_ns"].__setitem__(0, -1), "negative value in step column"),
        (lambda e: e["arms"][0]["runs"][0]["steps"]["plan_ns"].pop(), "step columns differ in length"),
        (lambda e: e["arms"][0]["runs"][0]["steps"]["forward_ns"].__setitem__(0, 10**12), "step 1 starts before"),
        (lambda e: e["arms"][0]["runs"][0]["clock"].update(end_perf_ns=-1), "clock went backwards"),
        (lambda e: e["arms"][0]["runs"][0]["requests"].append(first_request(e)), "share an id"),
        (lambda e: first_request(e).update(spans=[]), "no span"),
    ],
)  # fmt: skip
def test_a_broken_invariant_is_named(folder: Path, change: Callable[[dict[str, Any]], None], message: str) -> None:
    """Each invariant that a file can break, even one with a right digest, ends in its own message and a next step."""
    rewrite(folder, change)
    with pytest.raises(TraceError, match=message) as caught:
        load_set(folder)
    assert EXPERIMENT in str(caught.value)
    assert "spanreel profile" in str(caught.value)


def test_a_set_that_breaks_an_invariant_is_not_written(folder: Path, tmp_path: Path) -> None:
    """Saving checks first, so no broken file appears under its name."""
    loaded = load_set(folder)
    empty = msgspec.structs.replace(loaded.experiments["e23"], arms=[])
    with pytest.raises(TraceError, match="no arm"):
        save_set(tmp_path / "broken", loaded.header, {EXPERIMENT: empty})
    assert list((tmp_path / "broken").iterdir()) == []

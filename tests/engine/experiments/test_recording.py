"""A set grows experiment by experiment, survives every interruption, and appears as a whole."""

from __future__ import annotations

import errno
import os

import msgspec
import pytest

from demo_engine.errors import EnvironmentLackError, UsageError
from demo_engine.experiments.recording import Recording
from trace_factory import make_experiment, make_set
from traces import load_set, storage

FIRST, SECOND = "e23-one-request.json", "e08-chunked-prefill.json"


@pytest.fixture
def header(tmp_path):
    """The header of a set, without files."""
    made = load_set(make_set(tmp_path / "made", name="some-set"))
    return msgspec.structs.replace(made.header, files={})


@pytest.fixture
def other():
    """A second experiment."""
    return msgspec.structs.replace(make_experiment(), id="e08", name="chunked-prefill")


def test_a_finished_experiment_survives_an_interruption(tmp_path, header, other):
    """The next recording of the same machine, model and commit goes on with it; nothing shows under the final name."""
    first = Recording(tmp_path, header)
    assert first.open() == []
    first.keep(FIRST, make_experiment())
    again = Recording(tmp_path, header)
    assert again.open() == [FIRST]
    assert not (tmp_path / "some-set").exists()
    again.keep(SECOND, other)
    assert sorted(load_set(again.publish()).experiments) == ["e08", "e23"]
    assert not again.folder.exists()


def test_after_each_experiment_the_folder_is_a_valid_set(tmp_path, header):
    """What was recorded can be checked and drawn even if nothing follows."""
    recording = Recording(tmp_path, header)
    recording.open()
    assert load_set(recording.folder).experiments == {}
    recording.keep(FIRST, make_experiment())
    assert list(load_set(recording.folder).experiments) == ["e23"]


def test_another_machine_or_commit_begins_anew(tmp_path, header):
    """Its recording is another folder; the first one stays where it is."""
    first = Recording(tmp_path, header)
    first.open()
    first.keep(FIRST, make_experiment())
    fingerprint = msgspec.structs.replace(header.fingerprint, id="e" * 64)
    second = Recording(tmp_path, msgspec.structs.replace(header, fingerprint=fingerprint))
    assert second.open() == []
    assert Recording(tmp_path, header).open() == [FIRST]


def test_a_quick_recording_does_not_mix_with_a_full_one(tmp_path, header):
    """They have folders of their own."""
    full = Recording(tmp_path, header)
    full.open()
    full.keep(FIRST, make_experiment())
    assert Recording(tmp_path, header, "quick").open() == []


def test_half_a_recording_is_thrown_away(tmp_path, header):
    """A file that was cut off is not gone on with."""
    recording = Recording(tmp_path, header)
    recording.open()
    recording.keep(FIRST, make_experiment())
    (recording.folder / FIRST).write_bytes((recording.folder / FIRST).read_bytes()[:1000])
    assert Recording(tmp_path, header).open() == []


def test_one_experiment_is_measured_again_among_the_others(tmp_path, header, other):
    """The finished set keeps what was not asked for."""
    whole = Recording(tmp_path, header)
    whole.open()
    whole.keep(FIRST, make_experiment())
    whole.keep(SECOND, other)
    whole.publish()
    single = Recording(tmp_path, header, "e08")
    single.open()
    single.take_over({SECOND}, quick=False)
    assert Recording(tmp_path, header, "e08").open() == [FIRST], "what is to be measured anew does not count as done"
    single.keep(SECOND, msgspec.structs.replace(other, question="Anew?"))
    published = load_set(single.publish())
    assert published.experiment("e08").question == "Anew?"
    assert sorted(published.experiments) == ["e08", "e23"]


def test_an_experiment_is_not_added_to_another_machines_set(tmp_path, header):
    """The set of another fingerprint stays as it is, and the user is told what to do."""
    whole = Recording(tmp_path, header)
    whole.open()
    whole.keep(FIRST, make_experiment())
    before = (whole.publish() / "set.json").read_bytes()
    fingerprint = msgspec.structs.replace(header.fingerprint, id="e" * 64)
    single = Recording(tmp_path, msgspec.structs.replace(header, fingerprint=fingerprint), "e08")
    single.open()
    with pytest.raises(UsageError, match="another machine, model or commit"):
        single.take_over({SECOND}, quick=False)
    assert (tmp_path / "some-set" / "set.json").read_bytes() == before


def test_a_published_set_replaces_an_older_one_as_a_whole(tmp_path, header):
    """What stood there goes; nothing else is left."""
    for _ in range(2):
        recording = Recording(tmp_path / "out", header)
        recording.open()
        recording.keep(FIRST, make_experiment())
        assert load_set(recording.publish()).name == "some-set"
    assert [entry.name for entry in (tmp_path / "out").iterdir()] == ["some-set"]


def test_an_older_set_stays_where_the_new_one_cannot_be_put(tmp_path, header, monkeypatch):
    """It is back under its name, and what was recorded is still there."""
    recording = Recording(tmp_path, header)
    recording.open()
    recording.keep(FIRST, make_experiment())
    recording.publish()
    again = Recording(tmp_path, header)
    again.open()
    again.keep(FIRST, make_experiment())
    replace = os.replace

    def interrupted(source, target):
        if source == again.folder:
            raise KeyboardInterrupt
        replace(source, target)

    monkeypatch.setattr("demo_engine.experiments.recording.os.replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        again.publish()
    assert list(load_set(tmp_path / "some-set").experiments) == ["e23"]
    assert list(load_set(again.folder).experiments) == ["e23"]


def test_a_recording_without_any_experiment_leaves_nothing(tmp_path, header):
    """One that has an experiment stays."""
    recording = Recording(tmp_path / "out", header)
    recording.open()
    recording.discard_if_empty()
    assert list((tmp_path / "out").iterdir()) == []
    recording.open()
    recording.keep(FIRST, make_experiment())
    recording.discard_if_empty()
    assert list(load_set(recording.folder).experiments) == ["e23"]


def test_a_folder_that_is_no_set_is_not_replaced(tmp_path, header):
    """Something else under that name is left alone, and said before anything is measured."""
    (tmp_path / "some-set").mkdir()
    (tmp_path / "some-set" / "thesis.txt").write_text("precious")
    with pytest.raises(UsageError, match="not a trace set"):
        Recording(tmp_path, header)
    assert (tmp_path / "some-set" / "thesis.txt").read_text() == "precious"


@pytest.mark.parametrize("name", ["../elsewhere", ".hidden", "a/b"])
def test_a_name_that_leaves_the_folder_is_refused(tmp_path, header, name):
    """A set has a bare name."""
    with pytest.raises(UsageError, match="bare name"):
        Recording(tmp_path, msgspec.structs.replace(header, name=name))


def test_a_full_disk_keeps_what_is_finished(tmp_path, header, other, monkeypatch):
    """One line says so, with the exit code of the environment, and the first experiment is still whole."""
    recording = Recording(tmp_path, header)
    recording.open()
    recording.keep(FIRST, make_experiment())

    def full(_path, _data):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(storage, "_write", full)
    with pytest.raises(EnvironmentLackError, match="no space is left") as caught:
        recording.keep(SECOND, other)
    assert caught.value.exit_code == 4
    monkeypatch.undo()
    assert Recording(tmp_path, header).open() == [FIRST]


def test_a_quick_experiment_is_not_mixed_into_a_full_set(tmp_path, header, other):
    """What was measured in one way is not completed in another."""
    whole = Recording(tmp_path, header)
    whole.open()
    whole.keep(FIRST, make_experiment())
    whole.publish()
    single = Recording(tmp_path, header, "quick-e08")
    single.open()
    with pytest.raises(UsageError, match="was measured in full, this would not be"):
        single.take_over({SECOND}, quick=True)

"""A profile goes on where one experiment fails, keeps what is finished, and says what it found."""

from __future__ import annotations

from types import SimpleNamespace

import msgspec
import pytest

from demo_engine.errors import EngineError, EnvironmentLackError, UsageError
from demo_engine.experiments import profile
from demo_engine.experiments.recording import Recording
from demo_engine.experiments.registry import Entry, all_experiments, select
from experiment_factory import KnownEngines, make_experiment_plan
from trace_factory import make_set
from traces import load_set

QUICK = SimpleNamespace(quick=True)


class DyingEngines(KnownEngines):
    """An engine that the system kills for its memory in the second experiment."""

    def run(self, arm, plan):
        """Fail after the first experiment's four runs."""
        if len(self.asked) == 4:
            self.asked.append((arm.id, "killed"))
            raise EngineError("the server ended during a run, with exit code -9")
        return super().run(arm, plan)


def entries(*ids):
    """Return experiments of one round."""
    return [Entry(i, "known", "Is it known?", lambda _, i=i: make_experiment_plan(id=i, num_rounds=1)) for i in ids]


@pytest.fixture
def recording(tmp_path):
    """A recording without any experiment."""
    made = load_set(make_set(tmp_path / "made", name="some-set"))
    opened = Recording(tmp_path, msgspec.structs.replace(made.header, files={}))
    opened.open()
    return opened


def test_one_experiment_fails_and_the_others_go_on(recording, capsys):
    """What failed is said with its reason; what was measured before and after is kept; engines are started anew."""
    engines = DyingEngines()
    failed = profile._measure_all(entries("e01", "e02", "e03"), QUICK, engines, recording)
    assert failed == ["e02"]
    assert engines.num_stops == 1
    assert sorted(load_set(recording.folder).experiments) == ["e01", "e03"]
    out = capsys.readouterr().out
    assert "e02 failed, the others go on: the server ended during a run, with exit code -9" in out


def test_a_full_disk_ends_the_profile(recording, monkeypatch):
    """There is no sense in measuring what cannot be kept."""

    def full(_file, _experiment):
        raise EnvironmentLackError("no space is left")

    monkeypatch.setattr(recording, "keep", full)
    with pytest.raises(EnvironmentLackError, match="no space"):
        profile._measure_all(entries("e01", "e02"), QUICK, KnownEngines(), recording)


def test_progress_names_the_experiment_its_place_and_the_time_left(recording, capsys):
    """A person who waits can see how long it will be."""
    profile._measure_all(entries("e01", "e02"), QUICK, KnownEngines(), recording)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("e01 known (1 of 2, about 33 min left): Is it known?")
    assert any(line.startswith("e02 known (2 of 2, about 17 min left)") for line in lines)


def test_a_busy_machine_is_refused_unless_asked(monkeypatch):
    """The share and the limit are said."""
    monkeypatch.setattr(profile, "busy_share", lambda: 0.6)
    with pytest.raises(EnvironmentLackError, match=r"60% busy .* limit 15%"):
        profile._quiet_share(anyway=False)
    assert profile._quiet_share(anyway=True) == 0.6


@pytest.mark.parametrize("wish", ["e23", "E23", "one-request", "e23-one-request"])
def test_an_experiment_is_found_by_id_or_name(wish):
    """Capitals and the whole name of the file are understood."""
    assert [entry.id for entry in select([wish])] == ["e23"]


def test_several_experiments_come_in_the_order_of_all():
    """Commas and repeated options mean the same; nothing is measured twice."""
    order = [entry.id for entry in all_experiments()]
    wished = [entry.id for entry in select(["e13,e08", "e08"])]
    assert wished == [i for i in order if i in ("e08", "e13")]
    assert [entry.id for entry in select([])] == order


def test_an_unknown_experiment_is_a_users_mistake():
    """The message names those that there are."""
    with pytest.raises(UsageError, match="e99: no such experiment; there are e23 one-request"):
        select(["e99"])


def test_all_experiments_have_their_own_ids_names_and_questions():
    """Thirteen can be measured now; each asks something."""
    found = all_experiments()
    assert len(found) == len({entry.id for entry in found}) == len({entry.name for entry in found}) == 13
    assert all(entry.question.endswith("?") for entry in found)

"""``spanreel traces`` as a user runs it: what it prints, and its exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from trace_factory import MS, make_experiment, make_run, make_set
from traces import load_set, save_set
from traces.schema import Experiment


def spanreel_traces(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run the verb in a process of its own."""
    command = [sys.executable, "-m", "spanreel", "traces", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def shown_arms(folder: Path, *options: str) -> list[dict[str, str]]:
    """Return the arms that the verb shows as JSON."""
    return json.loads(spanreel_traces("show", folder, "--json", *options).stdout)["arms"]


def steady(prefill_factor: float) -> Experiment:
    """Return an experiment of seven runs that vary by a percent, with a prefill as many times as long."""
    runs = (
        make_run(prefill_ns=round(850 * MS * prefill_factor * (1 + index / 700)), decode_ns=95 * MS + index * 100_000)
        for index in (3, 0, 5, 2, 6, 1, 4)
    )
    return make_experiment(*runs)


def test_show_prints_the_request_stage_by_stage(tmp_path: Path) -> None:
    """Every stage of the path is a line, and the shares are of the end-to-end time."""
    done = spanreel_traces("show", make_set(tmp_path))
    assert done.returncode == 0
    assert "16 tokens" in done.stdout
    assert any(line.split() == ["prefill", "850", "ms", "36.08%"] for line in done.stdout.splitlines())


def test_show_as_json_is_one_object(tmp_path: Path) -> None:
    """The object holds the sums by name in nanoseconds, and they add up."""
    shown = json.loads(spanreel_traces("show", make_set(tmp_path), "--json").stdout)
    arm = shown["arms"][0]
    assert shown["ok"] is True
    assert sum(arm["by_name_ns"].values()) == arm["e2e_ns"]


def test_check_of_a_sound_set_says_ok(tmp_path: Path) -> None:
    """Exit 0, with and without JSON."""
    folder = make_set(tmp_path)
    assert spanreel_traces("check", folder).stdout == "synthetic: ok (e23)\n"
    assert json.loads(spanreel_traces("check", folder, "--json").stdout)["ok"] is True


def test_check_fails_on_too_much_unnamed_time(tmp_path: Path) -> None:
    """Unattributed time above the limit exits 1 and names the request."""
    run = make_run(tokens=2)
    request = run.requests[0]
    spans = [*request.spans[:-1], msgspec.structs.replace(request.spans[-1], start_ns=5_000 * MS)]
    run = msgspec.structs.replace(run, requests=[msgspec.structs.replace(request, spans=spans)])
    done = spanreel_traces("check", make_set(tmp_path, make_experiment(run)))
    assert done.returncode == 1
    assert "request r7" in done.stderr
    assert "unattributed" in done.stderr


@pytest.mark.parametrize(("old", "new", "code"), [(b'"r7"', b'"r8"', 2), (b"850000000", b"850000001", 3)])
def test_check_tells_broken_from_altered(tmp_path: Path, old: bytes, new: bytes, code: int) -> None:
    """A file that breaks an invariant exits 2, a sound one with another digest exits 3; both in one line."""
    folder = make_set(tmp_path)
    file = folder / "e23-one-request.json"
    file.write_bytes(file.read_bytes().replace(old, new, 1))
    done = spanreel_traces("check", folder)
    assert done.returncode == code
    assert len(done.stderr.splitlines()) == 1
    assert "spanreel profile" in done.stderr


def test_an_unknown_set_lists_the_known_ones() -> None:
    """A name that is no set exits 2 with one line."""
    done = spanreel_traces("show", "no-such-set")
    assert done.returncode == 2
    assert "no trace set 'no-such-set'; recorded sets:" in done.stderr


def test_help_names_every_verb() -> None:
    """Each verb has one line, and its own help."""
    shown = spanreel_traces("--help").stdout
    for verb in ("list", "show", "diff", "check", "export"):
        assert f"  {verb} " in shown
        own = spanreel_traces(verb, "--help")
        assert own.returncode == 0
        assert "Raises" not in own.stdout


def test_diff_says_what_changed(tmp_path: Path) -> None:
    """A slower prefill is slower in TTFT, E2E and the model's stage; the time per token is the same."""
    one, two = (make_set(tmp_path, steady(factor), name=name) for name, factor in (("one", 1.0), ("two", 1.3)))
    done = spanreel_traces("diff", one, two)
    assert done.returncode == 0
    verdicts = {line.split("  ")[1].strip(): line for line in done.stdout.splitlines() if line.startswith("e23 A")}
    assert list(verdicts) == ["TTFT", "time per token", "E2E", "queue", "model"]
    assert all(verdicts[metric].endswith("slower") for metric in ("TTFT", "E2E", "model"))
    assert verdicts["time per token"].endswith("same within the noise")


def test_diff_of_a_set_with_itself_is_noise(tmp_path: Path) -> None:
    """No fact differs, every ratio is 1, and nothing is called slower or faster."""
    folder = make_set(tmp_path, steady(1.0))
    shown = json.loads(spanreel_traces("diff", folder, folder, "--json").stdout)
    assert shown["differences"] == shown["notes"] == shown["only_first"] == shown["only_second"] == []
    assert {row["ratio"] for row in shown["rows"]} == {1.0}
    assert {row["verdict"] for row in shown["rows"]} == {"same within the noise"}


def test_diff_as_markdown_is_a_table(tmp_path: Path) -> None:
    """Every row has as many cells as the head, and the facts before it are a list."""
    one = make_set(tmp_path, steady(1.0), name="one")
    two = make_set(tmp_path, steady(1.0), name="two", label="Other machine")
    lines = spanreel_traces("diff", one, two, "--markdown").stdout.splitlines()
    table = [line for line in lines if line.startswith("|")]
    assert len({line.count("|") for line in table}) == 1
    assert table[1] == "|---" * 7 + "|"
    assert '- machine label: "Test machine" | "Other machine"' in lines


def test_diff_of_too_few_says_so(tmp_path: Path) -> None:
    """One request on each side decides nothing, however far apart they are."""
    one = make_set(tmp_path, make_experiment(make_run()), name="one")
    two = make_set(tmp_path, make_experiment(make_run(prefill_ns=9_000 * MS)), name="two")
    rows = json.loads(spanreel_traces("diff", one, two, "--json").stdout)["rows"]
    assert {row["verdict"] for row in rows} == {"too few to say"}


@pytest.mark.parametrize(("flag", "suffix"), [("--perfetto", ".perfetto.json"), ("--otlp", ".otlp.jsonl")])
def test_export_writes_beside_the_caller(
    tmp_path: Path, flag: str, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is named after the set, replaces the one before it, and is what standard output would get."""
    folder = make_set(tmp_path / "sets")
    monkeypatch.chdir(tmp_path)
    target = tmp_path / f"synthetic{suffix}"
    target.write_text("an older export")
    done = spanreel_traces("export", folder, flag)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{target.name}: 1 requests of 1 runs")
    assert {file.name for file in tmp_path.iterdir()} == {"sets", target.name}
    assert target.read_text() == spanreel_traces("export", folder, flag, "-o", "-").stdout


def test_export_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    """A folder that takes no file keeps what it has."""
    folder = make_set(tmp_path)
    target = tmp_path / "there"
    target.mkdir()
    (target / "kept").touch()
    done = spanreel_traces("export", folder, "--perfetto", "-o", target)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert {file.name for file in tmp_path.iterdir()} == {"synthetic", "there"}


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["export"], "--perfetto or --otlp"),
        (["export", "--otlp", "--experiment", "e99"], "no experiment 'e99'"),
        (["export", "--otlp", "--arm", "Z"], "no arm 'Z'"),
        (["show", "--experiment", "e99"], "no experiment 'e99'"),
        (["export", "--otlp", "-o", "no/such/folder/file"], "no/such/folder/file: No such file or directory"),
    ],
)
def test_what_is_not_there_is_one_line(tmp_path: Path, arguments: list[str], reason: str) -> None:
    """Exit 2, one line, and the value that was wrong."""
    verb, *options = arguments
    done = spanreel_traces(verb, make_set(tmp_path), *options)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert reason in done.stderr


@pytest.mark.parametrize("verb", ["diff", "export"])
def test_an_unknown_set_is_one_line(tmp_path: Path, verb: str) -> None:
    """The set that does exist does not help."""
    names = [make_set(tmp_path), "no-such-set"] if verb == "diff" else ["no-such-set", "--otlp"]
    done = spanreel_traces(verb, *names)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "no trace set 'no-such-set'" in done.stderr


@pytest.mark.parametrize("columns", [72, 80, 120])
def test_show_draws_the_request_in_the_width_there_is(
    tmp_path: Path, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lanes end at the last column, have an axis from zero, and no colour where there is no terminal."""
    monkeypatch.setenv("COLUMNS", str(columns))
    done = spanreel_traces("show", make_set(tmp_path))
    assert "\x1b" not in done.stdout
    rows = {line.split()[0]: line for line in done.stdout.splitlines() if line.startswith("  ") and line.split()}
    assert len(rows["model"]) == columns
    assert rows["model"].count("█") == pytest.approx((columns - 24) * 2275 / 2363, abs=17)
    assert rows["0"].split()[2] == "s"
    assert max(map(len, done.stdout.splitlines()[-15:])) <= columns


def test_show_of_one_experiment_shows_no_other(tmp_path: Path) -> None:
    """The other one's arms are neither listed nor drawn."""
    folder = make_set(tmp_path)
    trace_set = load_set(folder)
    other = msgspec.structs.replace(make_experiment(), id="e5")
    save_set(folder, trace_set.header, {"e5.json": other})
    assert [arm["experiment"] for arm in shown_arms(folder)] == ["e23", "e5"]
    assert [arm["experiment"] for arm in shown_arms(folder, "--experiment", "e5")] == ["e5"]

"""Two sets side by side: what counts, what differs, and what does not compare like with like."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from trace_factory import MS, make_experiment, make_run, make_set
from traces import TraceSet, load_set
from traces.arm_values import arm_values
from traces.bindings import Subject
from traces.comparison import compare
from traces.metrics import e2e_ns
from traces.schema import Arm, Experiment, Request, Run, SetHeader
from traces.storage import save_set


def arm_of(experiment: Experiment, **changes: object) -> Experiment:
    """Return the experiment with its arm changed."""
    return msgspec.structs.replace(experiment, arms=[msgspec.structs.replace(experiment.arms[0], **changes)])


def changed(run: Run, **changes: object) -> Run:
    """Return the run with its request changed."""
    return msgspec.structs.replace(run, requests=[msgspec.structs.replace(run.requests[0], **changes)])


def saved(folder: Path, name: str, experiment: Experiment, **header_changes: object) -> TraceSet:
    """Return a loaded set with one experiment and a changed header."""
    header: SetHeader = load_set(make_set(folder, experiment, name=name)).header
    save_set(folder / name, msgspec.structs.replace(header, **header_changes), {})
    return load_set(folder / name)


def with_second(run: Run, second: Request) -> Run:
    """Return the run with one more request."""
    return msgspec.structs.replace(run, requests=[*run.requests, second])


def test_values_are_those_of_finished_subjects() -> None:
    """Warm-ups, neighbours and requests that failed are no measurements of the arm."""
    runs = [make_run(prefill_ns=100 * MS), *(make_run() for _ in range(3))]
    runs[1] = changed(runs[1], phase="warmup")
    runs[2] = changed(runs[2], role="neighbour")
    runs[3] = changed(runs[3], finish_reason="cancelled")
    experiment = make_experiment(*runs)
    values = arm_values(experiment, experiment.arms[0])
    assert values["TTFT"] == [runs[0].requests[0].tokens.recv_gap_ns[0]]
    assert {len(column) for column in values.values()} == {1}
    assert "throughput" not in values


def test_stages_sum_to_the_end_to_end_time() -> None:
    """Whatever is compared stage by stage is the whole of the request."""
    experiment = make_experiment(make_run(), make_run(decode_ns=40 * MS))
    values = arm_values(experiment, experiment.arms[0])
    stages = [column for name, column in values.items() if name not in ("E2E", "TTFT", "time per token")]
    assert [sum(parts) for parts in zip(*stages, strict=True)] == values["E2E"]


def test_one_token_has_no_time_per_token() -> None:
    """A metric that a request does not have is left out, not zero."""
    experiment = make_experiment(make_run(tokens=1))
    assert "time per token" not in arm_values(experiment, experiment.arms[0])


def test_throughput_is_that_of_runs_with_several_subjects() -> None:
    """Two requests that overlap: all their tokens, from the first start to the last byte."""
    run = make_run(tokens=4)
    other = msgspec.structs.replace(
        run.requests[0], id="r1", intended_start_ns=run.requests[0].intended_start_ns - 7 * MS
    )
    experiment = make_experiment(with_second(run, other))
    arm = experiment.arms[0]
    first = Subject(experiment, arm, arm.runs[0], run.requests[0])
    (rate,) = arm_values(experiment, arm)["throughput"]
    paths_end = max(
        subject.request.intended_start_ns + e2e_ns(subject.path)
        for subject in (first, Subject(experiment, arm, arm.runs[0], other))
    )
    assert rate == pytest.approx(8 / ((paths_end - other.intended_start_ns) / 1e9))


def test_facts_that_differ_are_named(tmp_path: Path) -> None:
    """The machine's label, a nested field, the commit; hardware before software; what was calibrated is no fact."""
    first = saved(tmp_path, "one", make_experiment())
    fingerprint = msgspec.structs.replace(
        first.header.fingerprint,
        label="Other",
        stable={"aiohttp": "9", "commit": "1" * 40, "cpu": "other", "environment": {"A": "1"}},
    )
    second = saved(
        tmp_path, "two", make_experiment(), fingerprint=fingerprint, source_commit="1" * 40, source_dirty=True,
        engine=first.header.engine | {"calibrations": [{"read_bytes_per_s": 1}]},
    )  # fmt: skip
    found = [(d.field, d.first, d.second) for d in compare(first, second).differences]
    assert found == [
        ("machine label", "Test machine", "Other"),
        ("commit", "00000000", "11111111 with changes"),
        ("cpu", "test", "other"),
        ("aiohttp", None, "9"),
        ("environment.A", None, "1"),
    ]


def test_another_model_prompt_or_setting_is_said(tmp_path: Path) -> None:
    """Rows that are not of the same work say so, with the arm."""
    first = saved(tmp_path, "one", make_experiment())
    model = msgspec.structs.replace(first.header.model, label="Large", weights="random")
    experiment = arm_of(
        make_experiment(changed(make_run(), num_prompt_tokens=300)), settings={"max_num_seqs": 4, "engine": {"x": 1}}
    )
    comparison = compare(first, saved(tmp_path, "two", experiment, model=model))
    assert comparison.notes == [
        "another model, so other work: Test model (float32, trained) and Large (float32, random)",
        "e23 A: another prompt, so other work (200 and 300 tokens)",
        "e23 A: other settings: max_num_seqs, engine.x",
    ]


@pytest.mark.parametrize(("text", "is_another"), [("tok", False), ("other words", True), (None, False)])
def test_prompts_of_a_length_differ_by_their_text(tmp_path: Path, text: str | None, is_another: bool) -> None:
    """A text that was dropped is not another text."""
    first = saved(tmp_path, "one", make_experiment())
    second = saved(tmp_path, "two", make_experiment(changed(make_run(), prompt_text=text)))
    assert bool(compare(first, second).notes) is is_another


def test_what_one_set_lacks_is_listed_once(tmp_path: Path) -> None:
    """An experiment by its id, an arm of a common experiment with both."""
    common = make_experiment()
    extra = msgspec.structs.replace(common.arms[0], id="B")
    wide = msgspec.structs.replace(common, arms=[*common.arms, extra])
    other = msgspec.structs.replace(wide, id="e5")
    first = saved(tmp_path, "one", wide)
    save_set(first.path, first.header, {"e5.json": other})
    comparison = compare(load_set(first.path), saved(tmp_path, "two", common))
    assert (comparison.only_first, comparison.only_second) == (["e23 B", "e5"], [])
    assert {(row.experiment, row.arm) for row in comparison.rows} == {("e23", "A")}


def test_small_stages_are_left_out_unless_they_grew(tmp_path: Path) -> None:
    """A stage is a row if it is over one percent of the request in either set."""
    fast = saved(tmp_path, "fast", make_experiment(*(make_run() for _ in range(5))))
    slow = saved(tmp_path, "slow", make_experiment(*(make_run(sample_ns=30 * MS) for _ in range(5))))
    rows = {row.metric: row for row in compare(fast, slow).rows}
    assert "sampler" in rows
    assert "router" not in rows
    assert rows["sampler"].verdict == "slower"
    assert rows["sampler"].ratio == pytest.approx(30 / 0.7)


def test_a_stage_that_was_zero_has_no_ratio(tmp_path: Path) -> None:
    """What one set does not have cannot be divided by, and is still seen to be slower."""
    without = saved(tmp_path, "without", make_experiment(*(make_run(sample_ns=0) for _ in range(5))))
    having = saved(tmp_path, "having", make_experiment(*(make_run(sample_ns=30 * MS) for _ in range(5))))
    (row,) = [row for row in compare(without, having).rows if row.metric == "sampler"]
    assert (row.ratio, row.ratio_interval, row.verdict) == (None, None, "slower")
    (back,) = [row for row in compare(having, without).rows if row.metric == "sampler"]
    assert (back.ratio, back.verdict) == (0, "faster")


def test_more_throughput_is_faster(tmp_path: Path) -> None:
    """Its sign is the other way round."""

    def several(decode_ns: int) -> Experiment:
        runs = []
        for _ in range(5):
            run = make_run(decode_ns=decode_ns)
            runs.append(with_second(run, msgspec.structs.replace(run.requests[0], id="r1")))
        return make_experiment(*runs)

    first, second = saved(tmp_path, "one", several(95 * MS)), saved(tmp_path, "two", several(50 * MS))
    (row,) = [row for row in compare(first, second).rows if row.metric == "throughput"]
    assert row.verdict == "faster"
    assert row.ratio is not None
    assert row.ratio > 1


def test_arms_without_finished_requests_have_no_rows(tmp_path: Path) -> None:
    """Nothing measured is nothing to compare, and no error."""
    arm: Arm = make_experiment(changed(make_run(), finish_reason="cancelled")).arms[0]
    first = saved(tmp_path, "one", arm_of(make_experiment(), runs=arm.runs))
    assert compare(first, first).rows == []

"""The experiment end to end: three processes, real requests, a set that a deck can be built from."""

from __future__ import annotations

import subprocess
import sys

import pytest

from traces import load_set, request_path
from traces.bindings import Subject
from traces.check import unattributed_faults
from traces.metrics import e2e_ns, name_sums_ns, receive_times_ns, stage_sums_ns

pytestmark = [pytest.mark.slow, pytest.mark.engine]

PATH_ORDER = ("prepare", "connect", "request", "receive", "template", "encode", "route", "submit", "queue")
PATH_END = ("deliver", "detokenize", "write", "response")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A set of up to three runs an arm, as ``profile --quick`` writes it."""
    out = tmp_path_factory.mktemp("recorded")
    done = subprocess.run(
        [
            sys.executable, "-m", "demo_engine", "profile", "--only", "one-request",
            "--out", str(out), "--set", "quick", "--quick", "--anyway",
        ],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert [path.name for path in out.iterdir()] == ["quick"]
    return load_set(out / "quick")


def test_every_path_touches_and_sums_exactly(recorded):
    """From the intended start to the last byte one span is open at any instant, in the order of the stages."""
    experiment = recorded.experiment("e23")
    checked = 0
    for arm in experiment.arms:
        phases = [run.requests[0].phase for run in arm.runs]
        assert phases == ["warmup", *["measure"] * (len(phases) - 1)]
        assert 1 <= phases.count("measure") <= 3  # as many as there is time for
        for run in arm.runs:
            for request in run.requests:
                path = request_path(experiment, run, request)
                cursor = 0
                for span in path:
                    assert span.start_ns == cursor
                    cursor = span.end_ns
                assert sum(span.duration_ns for span in path) == e2e_ns(path) == cursor
                names = [span.name for span in path]
                assert tuple(names[: len(PATH_ORDER)]) == PATH_ORDER
                assert tuple(names[-len(PATH_END) :]) == PATH_END
                assert sum(name == "decode" for name in names) == request.num_output_tokens - 1
                checked += 1
    assert checked >= 2 * 3  # two runs of either arm, one of them beside a neighbour


def test_nothing_is_left_without_a_name(recorded):
    """The unattributed time stays under its limit, and the longest stages are the model's."""
    experiment = recorded.experiment("e23")
    assert unattributed_faults(experiment) == []
    for arm in experiment.arms:
        sums = stage_sums_ns(Subject.exemplar(experiment, arm.id).path)
        assert max(sums, key=sums.__getitem__) == "model"


def test_the_subject_waits_out_its_neighbours_step(recorded):
    """Beside a neighbour the queue names the step that it waited for; alone it hardly waits."""
    experiment = recorded.experiment("e23")
    beside, alone = (Subject.exemplar(experiment, arm_id) for arm_id in ("A", "A-idle"))
    (queue,) = [span for span in beside.path if span.name == "queue"]
    assert queue.attributes["waited_for"].endswith(": r1")
    assert name_sums_ns(alone.path)["queue"] < queue.duration_ns
    first_step = beside.request.tokens.step[0]
    assert beside.run.steps.request_ids[first_step] == ["r1", "r7"]
    assert beside.run.steps.prefill_tokens[first_step] == beside.request.num_prompt_tokens


def test_all_runs_gave_the_same_text(recorded):
    """Greedy answers are the same beside a neighbour and alone, in every run."""
    runs = [run for arm in recorded.experiment("e23").arms for run in arm.runs]
    digests = {request.token_ids_sha256 for run in runs for request in run.requests if request.role == "subject"}
    assert len(digests) == 1


def test_every_token_is_received_after_it_was_written_and_made(recorded):
    """Sampled, detokenized, written, received: in this order for each token, up to the clock's uncertainty."""
    experiment = recorded.experiment("e23")
    for arm in experiment.arms:
        request = Subject.exemplar(experiment, arm.id).request
        columns = (
            request.tokens.sample_ns,
            request.tokens.detok_ns,
            request.tokens.write_ns,
            receive_times_ns(request),
        )
        for instants in zip(*columns, strict=True):
            assert list(instants) == sorted(instants)


def test_the_set_says_what_it_was_recorded_on(recorded):
    """Fingerprint, model files, settings, prediction before the first run, and a size fit for a repository."""
    header, experiment = recorded.header, recorded.experiment("e23")
    assert header.model.num_parameters == 134_515_008
    assert {file.file for file in header.model.files} == {"config.json", "model.safetensors", "tokenizer.json"}
    assert header.engine["block_size"] == 16
    first_run_ns = min(run.clock.start_wall_ns for arm in experiment.arms for run in arm.runs)
    assert experiment.prediction.made_wall_ns < first_run_ns
    assert sum(path.stat().st_size for path in recorded.path.iterdir()) < 1_000_000
    subject = Subject.exemplar(experiment, "A").request
    assert "Genève" in subject.prompt_text
    assert 180 <= subject.num_prompt_tokens <= 220

"""Joining, predicting, naming and publishing, on hand-made records of known times."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

import msgspec
import pytest

from demo_engine.client.records import CallRecord, CallResult, RunResult
from demo_engine.core.config import EngineConfig
from demo_engine.core.step_log import COLUMNS
from demo_engine.errors import EngineError, UsageError
from demo_engine.experiments import one_request
from demo_engine.experiments.prediction import predict
from demo_engine.experiments.publish import publish
from demo_engine.recorder.calibration import Calibration
from demo_engine.recorder.fingerprint import make_fingerprint
from demo_engine.recorder.host import cpu_name
from demo_engine.recorder.join import join_run
from demo_engine.recorder.server_trace import ServerSteps, ServerTokens, ServerTrace, StageClock
from demo_engine.recorder.source import source_state
from demo_engine.runner.shape import ModelShape
from trace_factory import make_experiment, make_set
from traces import load_set, request_path
from traces.check import check_experiment
from traces.storage import canonical_json

US = 1_000
MS = 1_000_000
ZERO = 5_000_000_000
PROMPTS = {"r7": "subject", "r1": "neighbour"}
CALIBRATION = Calibration(1, 10e9, 50e9, 1000.0, "oneDNN prepacked", "2.13.0", "abc", "AVX2", None)
SHAPE = ModelShape(576, 1536, 30, 9, 3, 64, 49152, 1e-5, 1e5, 8192, True, (2,))


def make_call(*, request_id="chatcmpl-1", start=ZERO, first_step=3, lost_step=None) -> CallResult:
    """Return a request of two tokens whose stages take known times: step ``first_step`` runs as it arrives."""
    marks = [("receive", 100), ("template", 20), ("encode", 300), ("route", 10), ("submit", 70)]
    now = start + 500 * US
    clock = StageClock(lambda: start + 500 * US)
    for name, duration_us in marks:
        now += duration_us * US
        clock.mark(name, now)
    arrival, first, second = now, start + 20 * MS, start + 31 * MS
    clock.mark("engine", second + 9 * MS)
    for name, end in (("deliver", 9100), ("detokenize", 9150), ("write", 9200)):
        clock.mark(name, second + end * US)
    rows = {first_step: arrival - 5 * MS, first_step + 1: first, first_step + 2: second}
    rows.pop(lost_step, None)
    columns = {name: [1] * len(rows) for name in COLUMNS}
    columns |= {"start_ns": list(rows.values()), "plan_ns": [100 * US] * len(rows), "emit_ns": [200 * US] * len(rows)}
    columns |= {"forward_ns": [8 * MS] * len(rows), "sample_ns": [300 * US] * len(rows)}
    steps = ServerSteps(first_step, columns, [["other"], *[[request_id]] * (len(rows) - 1)], [[]] * len(rows), 64)
    tokens = ServerTokens(
        [11, 12], ["a", "b"], [first_step + 1, first_step + 2], [first + 8 * MS, second + 8 * MS],
        [first + 9 * MS, second + 9150 * US], [first + 9 * MS, second + 9200 * US], [1, 2],
    )  # fmt: skip
    server = ServerTrace(request_id, "perf_counter_ns", 40_000, 7, "length", clock.spans, tokens, steps)
    events = [start + 600 * US, first + 10 * MS, second + 10 * MS]
    client = CallRecord(start, start + 50 * US, start + 200 * US, second + 11 * MS, events, request_id)
    return CallResult(client, server)


def make_result(**changes) -> RunResult:
    """Return a run of one request."""
    return RunResult(1, ZERO - 10 * MS, 2, ZERO + 60 * MS, make_call(**changes))


def test_a_joined_path_touches_and_sums_to_the_end(tmp_path):
    """Every nanosecond from the intended start to the last byte has exactly one span, and none is nameless."""
    run = join_run(make_result(), PROMPTS)
    experiment = make_experiment(run)
    experiment = msgspec.structs.replace(experiment, span_types=one_request.span_types(run.clock.bracket_ns))
    check_experiment(experiment, tmp_path)
    path = request_path(experiment, run, run.requests[0])
    cursor = 0
    for span in path:
        assert span.start_ns == cursor
        cursor = span.end_ns
    assert cursor == 42 * MS
    names = [span.name for span in path]
    assert names == [
        "prepare", "connect", "request", "receive", "template", "encode", "route", "submit", "queue",
        "plan", "prefill", "sample", "emit", "loop", "plan", "decode", "sample", "emit", "loop",
        "deliver", "detokenize", "write", "response",
    ]  # fmt: skip
    queue = path[names.index("queue")]
    assert queue.attributes == {"waited_for": "step 0: other"}


def test_tokens_are_received_with_the_event_that_carried_them():
    """Receive times come from the client's events, the first gap from the intended start."""
    run = join_run(make_result(), PROMPTS)
    tokens = run.requests[0].tokens
    assert tokens.recv_gap_ns == [30 * MS, 11 * MS]
    assert tokens.step == [1, 2]
    assert run.requests[0].token_ids_sha256 == hashlib.sha256(canonical_json([11, 12])).hexdigest()


def test_the_parts_of_two_requests_make_one_record_of_steps():
    """Overlapping parts are laid over one another; ids of the server become the ids of the trace."""
    subject = make_call(request_id="chatcmpl-1", first_step=4, start=ZERO + 11 * MS)
    neighbour = make_call(request_id="chatcmpl-2", first_step=3)
    run = join_run(RunResult(1, ZERO - 10 * MS, 2, ZERO + 60 * MS, subject, neighbour), PROMPTS)
    assert [request.id for request in run.requests] == ["r7", "r1"]
    assert len(run.steps.start_ns) == 4
    assert {name for ids in run.steps.request_ids for name in ids} <= {"r7", "r1", "other"}


def test_a_hole_in_the_steps_is_an_error():
    """A step that the server no longer had is not papered over."""
    result = RunResult(1, ZERO, 2, ZERO + MS, make_call(first_step=3), make_call(request_id="x", first_step=9))
    with pytest.raises(EngineError, match="hole"):
        join_run(result, PROMPTS)


def test_an_effect_before_its_cause_is_an_error():
    """A server that read the headers before the client had connected means clocks that cannot be joined."""
    result = make_result()
    result.subject.client.connected_ns = ZERO + 700 * US
    with pytest.raises(EngineError, match=r"request ends .* before it begins"):
        join_run(result, PROMPTS)


def test_the_exemplar_is_the_median_by_end_to_end_time():
    """Of three runs the middle one is shown, wherever it stands."""
    runs = []
    for extra in (9, 1, 5):
        result = make_result()
        result.subject.client.end_ns += extra * MS
        runs.append(join_run(result, PROMPTS))
    prediction = predict(SHAPE, CALIBRATION, 200, 24, 0.5)
    experiment = one_request.make_experiment(
        prediction, {"A": runs, "A-idle": runs[:1]}, 2, EngineConfig(num_threads=2)
    )
    assert experiment.arms[0].exemplar.run == 2
    assert experiment.arms[0].exemplar.rule == "median E2E of n=3"
    assert experiment.arms[1].exemplar.run == 0
    assert all(arm.settings["engine"]["num_threads"] == 2 for arm in experiment.arms)


def test_a_prediction_is_its_formula_and_carries_its_digest():
    """The value follows from the inputs that stand beside it, and the digest covers all of them."""
    prediction = predict(SHAPE, CALIBRATION, 200, 24, 0.5)
    inputs = prediction.inputs
    overhead_ns = inputs["ops"] * inputs["op_overhead_ns"]
    prefill_ns = inputs["prefill_flops"] / inputs["gemm_flops_per_s"] * 1e9 + overhead_ns
    decode_ns = inputs["decode_bytes"] / inputs["read_bytes_per_s"] * 1e9 + overhead_ns
    assert prediction.value_ns == round(prefill_ns + 23.5 * decode_ns)
    fields = msgspec.to_builtins(prediction)
    assert (
        hashlib.sha256(canonical_json({k: v for k, v in fields.items() if k != "sha256"})).hexdigest()
        == fields["sha256"]
    )


def test_the_default_models_shape_gives_its_known_size():
    """134.5 million parameters, 46 KB of keys and values a token, about 270 million operations a token."""
    assert SHAPE.num_parameters == 134_515_008
    assert SHAPE.kv_bytes_per_token == 46_080


def test_a_fingerprint_is_stable_full_and_without_guesses():
    """Twice the same machine is the same id; what is unknown is null with a reason; a changed fact changes the id."""
    first, again = make_fingerprint(CALIBRATION, 0.0), make_fingerprint(CALIBRATION, 0.9)
    assert first.id == again.id
    facts = first.stable | first.volatile
    assert sum(value is not None for value in facts.values()) >= 25
    assert {name for name, value in facts.items() if value is None} == set(first.unknown)
    assert all(first.unknown.values())
    other = make_fingerprint(msgspec.structs.replace(CALIBRATION, num_threads=2), 0.0)
    assert other.id != first.id


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("AMD EPYC 7763 64-Core Processor", "EPYC"), ("AMD EPYC", "EPYC"), ("Intel(R) Xeon(R) CPU @ 2.20GHz", "Xeon"),
        ("Apple M2 Pro", "Apple M2"), ("Intel(R) Core(TM) i7-1185G7 @ 3.00GHz", "Core i7"), ("", "CPU"),
    ],
)  # fmt: skip
def test_a_cpu_has_a_short_name(model, name):
    """The label on every slide is the family, not the brochure."""
    assert cpu_name(model) == name


def test_a_set_is_published_whole_and_replaces_an_older_one(tmp_path):
    """The folder appears at once under its name; what stood there goes; nothing else is left."""
    made = load_set(make_set(tmp_path / "made", name="some-set"))
    experiments = {"e23-one-request.json": made.experiment("e23")}
    for _ in range(2):
        path = publish(tmp_path / "out", made.header, experiments)
        assert load_set(path).name == "some-set"
    assert [entry.name for entry in (tmp_path / "out").iterdir()] == ["some-set"]


def test_a_folder_that_is_no_set_is_not_replaced(tmp_path):
    """Something else under that name is left alone, and said."""
    made = load_set(make_set(tmp_path / "made", name="some-set"))
    (tmp_path / "some-set").mkdir()
    (tmp_path / "some-set" / "thesis.txt").write_text("precious")
    with pytest.raises(UsageError, match="not a trace set"):
        publish(tmp_path, made.header, {})
    assert (tmp_path / "some-set" / "thesis.txt").read_text() == "precious"


def test_the_source_state_names_commit_and_dirt(tmp_path):
    """A clean checkout is clean, a new file makes it dirty, and no checkout has no commit."""
    assert source_state(tmp_path)[0] == "unknown"
    git = ["git", "-C", str(tmp_path), "-c", "user.name=t", "-c", "user.email=t@localhost"]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "start"], check=True)
    commit, is_dirty = source_state(tmp_path)
    assert len(commit) == 40
    assert not is_dirty
    Path(tmp_path / "new").touch()
    assert source_state(tmp_path) == (commit, True)

"""Joining both sides of a run, and naming machine and source, on hand-made records of known times."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

import msgspec
import pytest

from call_factory import MS, US, ZERO, make_call, make_plan, make_result
from demo_engine.client.records import CallRecord, CallResult, RunResult
from demo_engine.errors import EngineError
from demo_engine.recorder.calibration import Calibration
from demo_engine.recorder.fingerprint import make_fingerprint
from demo_engine.recorder.host import cpu_name
from demo_engine.recorder.join import join_run
from demo_engine.recorder.source import source_state
from demo_engine.recorder.span_types import span_types
from demo_engine.runner.shape import ModelShape
from trace_factory import make_experiment
from traces import request_path
from traces.check import check_experiment
from traces.storage import canonical_json

CALIBRATION = Calibration(1, "cpu", 10e9, 50e9, 1000.0, "oneDNN prepacked", "2.13.0", "abc", "AVX2", None)
SHAPE = ModelShape(576, 1536, 30, 9, 3, 64, 49152, 1e-5, 1e5, 8192, True, (2,))


def test_a_joined_path_touches_and_sums_to_the_end(tmp_path):
    """Every nanosecond from the intended start to the last byte has exactly one span, and none is nameless."""
    run = join_run(make_plan("r7"), make_result())
    experiment = make_experiment(run)
    experiment = msgspec.structs.replace(experiment, span_types=span_types(run.clock.bracket_ns))
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
    run = join_run(make_plan("r7"), make_result())
    tokens = run.requests[0].tokens
    assert tokens.recv_gap_ns == [30 * MS, 11 * MS]
    assert tokens.step == [1, 2]
    assert run.requests[0].token_ids_sha256 == hashlib.sha256(canonical_json([11, 12])).hexdigest()


def test_the_parts_of_two_requests_make_one_record_of_steps():
    """Overlapping parts are laid over one another; ids of the server become the ids of the trace."""
    subject = make_call(request_id="chatcmpl-1", first_step=4, start=ZERO + 11 * MS)
    neighbour = make_call(request_id="chatcmpl-2", first_step=3)
    result = RunResult(1, ZERO - 10 * MS, 2, ZERO + 60 * MS, [subject, neighbour])
    run = join_run(make_plan("r7", "r1"), result)
    assert [request.id for request in run.requests] == ["r7", "r1"]
    assert len(run.steps.start_ns) == 4
    assert {name for ids in run.steps.request_ids for name in ids} <= {"r7", "r1", "other"}


def test_a_hole_in_the_steps_is_an_error():
    """A step that the server no longer had is not papered over."""
    result = RunResult(1, ZERO, 2, ZERO + MS, [make_call(first_step=3), make_call(request_id="x", first_step=9)])
    with pytest.raises(EngineError, match="hole"):
        join_run(make_plan("r7", "r1"), result)


def test_an_effect_before_its_cause_is_an_error():
    """A server that read the headers before the client had connected means clocks that cannot be joined."""
    result = make_result()
    result.calls[0].client.connected_ns = ZERO + 700 * US
    with pytest.raises(EngineError, match=r"request ends .* before it begins"):
        join_run(make_plan("r7"), result)


def test_a_refused_request_stays_in_the_trace_with_its_reason(tmp_path):
    """It has the client's part of a path, no tokens, and says why; the others are joined as ever."""
    client = CallRecord(ZERO, ZERO + 50 * US, ZERO + 200 * US, ZERO + 3 * MS)
    refused = CallResult(client, None, "the server answered 503: full")
    result = RunResult(1, ZERO - 10 * MS, 2, ZERO + 60 * MS, [make_call(), refused])
    run = join_run(make_plan("r7", "r8"), result)
    experiment = msgspec.structs.replace(make_experiment(run), span_types=span_types(run.clock.bracket_ns))
    check_experiment(experiment, tmp_path)
    request = run.requests[1]
    path = request_path(experiment, run, request)
    assert [span.name for span in path] == ["prepare", "connect", "request"]
    assert path[-1].attributes == {"failure": "the server answered 503: full"}
    assert path[-1].end_ns == 3 * MS
    assert (request.finish_reason, request.num_output_tokens) == ("error", 0)


def test_a_run_without_a_completed_request_is_an_error():
    """There is nothing to draw, and the first failure says why."""
    refused = CallResult(CallRecord(ZERO, 0, 0, ZERO + MS), None, "the server answered 503: full")
    with pytest.raises(EngineError, match="answered 503"):
        join_run(make_plan("r7"), RunResult(1, ZERO, 2, ZERO + MS, [refused]))


def test_texts_are_kept_only_where_a_picture_shows_them():
    """Prompt and answer stand in the trace if the plan says so."""
    (kept,) = join_run(make_plan("r7", keep_text=True), make_result()).requests
    (bare,) = join_run(make_plan("r7"), make_result()).requests
    assert (kept.prompt_text, kept.token_texts) == ("prompt of r7", ["a", "b"])
    assert (bare.prompt_text, bare.token_texts) == (None, None)


def test_the_default_models_shape_gives_its_known_size():
    """134.5 million parameters, 46 KB of keys and values a token, about 270 million operations a token."""
    assert SHAPE.num_parameters == 134_515_008
    assert SHAPE.kv_bytes_per_token == 46_080


def test_a_fingerprint_is_stable_full_and_without_guesses():
    """Twice the same machine is the same id; what is unknown is null with a reason; a changed fact changes the id."""
    first, again = _fingerprint(busy_share=0.0), _fingerprint(busy_share=0.9)
    assert first.id == again.id
    facts = first.stable | first.volatile
    assert sum(value is not None for value in facts.values()) >= 25
    assert {name for name, value in facts.items() if value is None} == set(first.unknown)
    assert all(first.unknown.values())


@pytest.mark.parametrize(
    "change",
    [
        {"calibration": msgspec.structs.replace(CALIBRATION, num_threads=2)},
        {"calibration": msgspec.structs.replace(CALIBRATION, torch_version="2.14.0")},
        {"weight_sha256": {"model.safetensors": "1" * 64}},
        {"source": ("b" * 40, False)},
        {"source": ("a" * 40, True)},
    ],
    ids=["threads", "torch", "model", "commit", "dirt"],
)
def test_a_changed_fact_changes_the_fingerprint(change):
    """Another model, commit or version is another fingerprint."""
    assert _fingerprint(**change).id != _fingerprint().id


def test_driver_and_clocks_of_a_gpu_belong_to_the_fingerprint(tmp_path, monkeypatch):
    """What the driver's tool says is in it, one entry a GPU, with the serial number hidden."""
    ids = set()
    for driver, clock in (("580.1", "1980 MHz"), ("580.2", "1980 MHz"), ("580.1", "1410 MHz")):
        line = f"{driver}, GPU-1234, 96.00, 143771 MiB, Enabled, Disabled, Enabled, 700 W, 700 W, {clock}, 1, 2, 3"
        tool = tmp_path / "nvidia-smi"
        tool.write_text(f"#!/bin/sh\necho '{line}'\n")
        tool.chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
        fingerprint = _fingerprint()
        assert fingerprint.stable["gpu_driver"] == [driver]
        assert fingerprint.stable["gpu_max_sm_clock"] == [clock]
        assert "GPU-1234" not in str(fingerprint.stable)
        ids.add(fingerprint.id)
    assert len(ids) == 3


def _fingerprint(*, calibration=CALIBRATION, busy_share=0.0, weight_sha256=None, source=("a" * 40, False)):
    weights = weight_sha256 or {"model.safetensors": "0" * 64}
    return make_fingerprint(calibration, busy_share, weights, source)


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

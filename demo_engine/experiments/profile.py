"""``profile``: calibrate, predict, measure, write a set."""

from __future__ import annotations

import re
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec

from demo_engine.api.template import Message, render
from demo_engine.api.tokenizer import PromptTokenizer
from demo_engine.console import say
from demo_engine.core.config import EngineConfig
from demo_engine.errors import EngineError, EnvironmentLackError
from demo_engine.experiments import one_request
from demo_engine.experiments.prediction import predict
from demo_engine.experiments.processes import Client, measure_calibration, running_client, running_server
from demo_engine.experiments.publish import publish
from demo_engine.flags import make_config
from demo_engine.recorder.calibration import Calibration
from demo_engine.recorder.fingerprint import make_fingerprint
from demo_engine.recorder.host import busy_share, cpu_name, num_cores
from demo_engine.recorder.source import source_state
from demo_engine.runner.shape import ModelShape
from demo_engine.weights import DEFAULT_MODEL, ModelFolder, open_model
from traces import SCHEMA_VERSION, Experiment, Run, SetHeader
from traces.check import unattributed_faults
from traces.schema import Fingerprint, Model, Prediction, WeightFile
from traces.wording import total

BUSY_LIMIT = 0.15
NUM_RUNS, NUM_QUICK_RUNS = 7, 3
NUM_WARMUPS = 2


@dataclass(frozen=True)
class ProfileOptions:
    """What ``profile`` was asked for."""

    out: str
    set_name: str | None
    model: str | None
    quick: bool
    anyway: bool
    settings: dict[str, Any]
    """Settings of the engine that differ from their defaults."""


def profile(options: ProfileOptions) -> int:
    """Measure this machine and write a trace set; returns the exit code.

    Raises:
        EnvironmentLackError: The machine is busy, or the model is missing.
        EngineError: A run failed, or leaves too much time without a name.
    """
    model_name = options.model or DEFAULT_MODEL
    folder = open_model(model_name)
    share = _quiet_share(options.anyway)
    config = make_config(options.settings, folder.config()["max_position_embeddings"])
    say("calibrating")
    calibration = measure_calibration(config.num_threads)
    say(
        f"this machine reads {calibration.read_bytes_per_s / 1e9:.1f} GB/s and computes "
        f"{calibration.gemm_flops_per_s / 1e9:.0f} GFLOP/s with {config.num_threads} thread(s)"
    )
    fingerprint = make_fingerprint(calibration, share)
    prediction = _predict(folder, calibration)
    say(f"predicted: {total(prediction.value_ns)} end to end")
    with running_server(model_name, config) as server, running_client(server, folder.id) as client:
        experiment = _measure(client, config, prediction, NUM_QUICK_RUNS if options.quick else NUM_RUNS)
    faults = unattributed_faults(experiment)
    if faults:
        raise EngineError(f"{faults[0]}; measure again on a quiet machine")
    header = _header(options, config, folder, calibration, fingerprint)
    path = publish(Path(options.out), header, {one_request.FILE: experiment})
    say(f"wrote {path}")
    return 0


def _quiet_share(anyway: bool) -> float:
    share = busy_share()
    if share > BUSY_LIMIT and not anyway:
        raise EnvironmentLackError(
            f"this machine is {share:.0%} busy before anything runs, limit {BUSY_LIMIT:.0%}; "
            "stop what is running, or measure --anyway"
        )
    return share


def _predict(folder: ModelFolder, calibration: Calibration) -> Prediction:
    tokenizer = PromptTokenizer(folder.path / "tokenizer.json")
    subject = one_request.PLANS["A"].subject
    num_prompt_tokens = len(tokenizer.encode(render([Message("user", subject.prompt)])))
    shape = ModelShape.from_config(folder.config())
    return predict(shape, calibration, num_prompt_tokens, subject.max_tokens, one_request.WAIT_SHARE)


def _measure(client: Client, config: EngineConfig, prediction: Prediction, num_runs: int) -> Experiment:
    """Measure all arms, run by run in turn, so that slow changes of the machine meet all of them alike."""
    for number in range(NUM_WARMUPS):
        say(f"warm-up {number + 1} of {NUM_WARMUPS}")
        one_request.measure(client, "A")
    runs: dict[str, list[Run]] = {arm_id: [] for arm_id in one_request.PLANS}
    for number in range(num_runs):
        for arm_id, arm_runs in runs.items():
            arm_runs.append(one_request.measure(client, arm_id))
            experiment = one_request.make_experiment(prediction, {arm_id: arm_runs[-1:]}, NUM_WARMUPS, config)
            e2e_ns = one_request.subject_e2e_ns(arm_runs[-1], experiment.span_types, prediction)
            say(f"run {number + 1} of {num_runs}, {one_request.LABELS[arm_id]}: {total(e2e_ns)}")
    return one_request.make_experiment(prediction, runs, NUM_WARMUPS, config)


def _header(
    options: ProfileOptions,
    config: EngineConfig,
    folder: ModelFolder,
    calibration: Calibration,
    fingerprint: Fingerprint,
) -> SetHeader:
    commit, is_dirty = source_state()
    model = Model(
        id=folder.id,
        label=folder.label,
        files=[WeightFile(name, digest) for name, digest in sorted(folder.sha256.items())],
        dtype="float32",
        num_parameters=ModelShape.from_config(folder.config()).num_parameters,
        weights="trained",
    )
    return SetHeader(
        schema_version=SCHEMA_VERSION,
        name=options.set_name or _default_name(fingerprint, folder),
        recorded_wall_ns=time.time_ns(),
        fingerprint=fingerprint,
        model=model,
        engine=asdict(config)
        | {"linear_kernel": calibration.linear_kernel, "calibration": msgspec.to_builtins(calibration)},
        source_commit=commit,
        source_dirty=is_dirty,
        files={},
    )


def _default_name(fingerprint: Fingerprint, folder: ModelFolder) -> str:
    """Name a set after hardware and model, such as ``epyc-2core-smollm2-135m``."""
    words = f"{cpu_name(fingerprint.stable['cpu_model'] or 'cpu')} {num_cores()}core {folder.label}"
    return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")

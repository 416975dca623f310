"""``profile``: calibrate, predict, measure one experiment after the other, write a set."""

from __future__ import annotations

import re
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec

from demo_engine.console import say
from demo_engine.core.config import EngineConfig
from demo_engine.errors import EngineError, EnvironmentLackError, UsageError
from demo_engine.experiments.context import Context, make_context
from demo_engine.experiments.engines import Engines
from demo_engine.experiments.harness import measure
from demo_engine.experiments.place import held_place
from demo_engine.experiments.processes import measure_calibration
from demo_engine.experiments.recording import Recording
from demo_engine.experiments.registry import Entry, select
from demo_engine.experiments.report import outcome_lines
from demo_engine.experiments.signals import ending_in_order
from demo_engine.flags import make_config
from demo_engine.recorder.calibration import Calibration
from demo_engine.recorder.fingerprint import make_fingerprint
from demo_engine.recorder.host import busy_share, cpu_model, cpu_name, num_cores
from demo_engine.recorder.source import source_state
from demo_engine.runner.quantization import DTYPES
from demo_engine.runner.shape import ModelShape
from demo_engine.weights import DEFAULT_MODEL, ModelFolder, open_model
from traces import SCHEMA_VERSION, SetHeader, TraceError
from traces.schema import Model, WeightFile

BUSY_LIMIT = 0.15


@dataclass(frozen=True)
class ProfileOptions:
    """What ``profile`` was asked for."""

    out: str
    set_name: str | None
    model: str | None
    only: list[str]
    """Ids or names of experiments; empty means all."""
    quick: bool
    anyway: bool
    settings: dict[str, Any]
    """Settings of the engine that differ from their defaults."""


def profile(options: ProfileOptions) -> int:
    """Measure this machine and write a trace set; returns the exit code: 1 if an experiment failed.

    Raises:
        UsageError: There is no such experiment, the model cannot be used, or the set cannot be written there.
        EnvironmentLackError: The machine is busy, the default model is missing, or another profile records this set.
    """
    entries = select(options.only)
    folder = open_model(options.model or DEFAULT_MODEL)
    config = make_config(options.settings, folder.config()["max_position_embeddings"])
    if config.num_threads > num_cores():
        raise UsageError(f"--threads {config.num_threads}: this machine has {num_cores()} cores")
    name = options.set_name or _default_name(folder)
    with ending_in_order(), held_place(Path(options.out), name):
        share = _quiet_share(options.anyway)
        header = _header(name, config, folder, _calibrate(config), share)
        kind = [*(["quick"] if options.quick else []), *(entry.id for entry in entries if options.only)]
        recording = Recording(Path(options.out), header, "-".join(kind))
        try:
            return _record(options, entries, folder, config, recording)
        except KeyboardInterrupt:
            if recording.header.files:
                say(f"kept: {', '.join(sorted(recording.header.files))}; the same command goes on from there")
            raise
        finally:
            recording.discard_if_empty()


def _record(
    options: ProfileOptions, entries: list[Entry], folder: ModelFolder, config: EngineConfig, recording: Recording
) -> int:
    """Measure what is not there yet, and put the set in its place; returns the exit code."""
    done = recording.open()
    if done:
        say(f"going on with {recording.folder.name}: measured already: {', '.join(done)}")
    elif options.only:
        recording.take_over({entry.file for entry in entries}, quick=options.quick)
    # Predictions rest on the calibration that stands in the set, also where an older recording goes on.
    calibration = msgspec.convert(recording.header.engine["calibrations"][0], Calibration)
    context = make_context(folder, calibration, config, quick=options.quick)
    with Engines(options.model or DEFAULT_MODEL, folder.id) as engines:
        failed = _measure_all([entry for entry in entries if entry.file not in done], context, engines, recording)
    if not recording.header.files:
        raise EngineError("no experiment could be measured")
    if failed and recording.target.exists():
        say(f"{recording.target} stays as it was; what was measured is kept, and the same command measures the rest")
        return 1
    say(f"wrote {recording.publish()}")
    if failed:
        say(f"to measure what failed, add --only {','.join(failed)}")
    return 1 if failed else 0


def _quiet_share(anyway: bool) -> float:
    share = busy_share()
    if share > BUSY_LIMIT and not anyway:
        raise EnvironmentLackError(
            f"this machine is {share:.0%} busy before anything runs, limit {BUSY_LIMIT:.0%}; "
            "stop what is running, or measure --anyway"
        )
    return share


def _calibrate(config: EngineConfig) -> list[Calibration]:
    """Calibrate at one and at two threads, and at as many as the engine has, which comes first."""
    say("calibrating")
    others = {1, 2} - {config.num_threads}
    counts = [config.num_threads, *sorted(n for n in others if n <= num_cores())]
    calibrations = [measure_calibration(count, config.device) for count in counts]
    for one in calibrations:
        say(
            f"{one.num_threads} thread(s): reads {one.read_bytes_per_s / 1e9:.1f} GB/s, "
            f"computes {one.gemm_flops_per_s / 1e9:.0f} GFLOP/s, {one.op_overhead_ns / 1e3:.1f} µs an operation"
        )
    return calibrations


def _measure_all(entries: list[Entry], context: Context, engines: Engines, recording: Recording) -> list[str]:
    """Measure one experiment after the other; return those that failed, each having said why."""
    failed = []
    left_s = sum(entry.plan(context).budget_s for entry in entries)
    for number, entry in enumerate(entries, 1):
        plan = entry.plan(context)  # made right before its first run, so that this is when its prediction is stamped
        say(f"{plan.id} {plan.name} ({number} of {len(entries)}, about {_minutes(left_s)} left): {plan.question}")
        left_s -= plan.budget_s
        try:
            experiment = measure(plan, engines, _say_indented, quick=context.quick)
            recording.keep(plan.file, experiment)
        except (EnvironmentLackError, UsageError):
            raise
        except (EngineError, TraceError, MemoryError) as error:
            engines.stop_all()
            failed.append(plan.id)
            _say_indented(f"{plan.id} failed, the others go on: {error or type(error).__name__}")
            continue
        for line in outcome_lines(experiment):
            _say_indented(line)
    if failed:
        say(f"failed: {', '.join(failed)}")
    return failed


def _say_indented(line: str) -> None:
    say(f"  {line}")


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"


def _header(
    name: str, config: EngineConfig, folder: ModelFolder, calibrations: list[Calibration], busy: float
) -> SetHeader:
    source = source_state()
    fingerprint = make_fingerprint(calibrations[0], busy, folder.sha256, source, dtype=DTYPES[config.quantization])
    model = Model(
        id=folder.id,
        label=folder.label,
        files=[WeightFile(name, digest) for name, digest in sorted(folder.sha256.items())],
        dtype=DTYPES[config.quantization],
        num_parameters=ModelShape.from_config(folder.config()).num_parameters,
        weights="trained",
    )
    return SetHeader(
        schema_version=SCHEMA_VERSION,
        name=name,
        recorded_wall_ns=time.time_ns(),
        fingerprint=fingerprint,
        model=model,
        engine=asdict(config)
        | {
            "linear_kernel": calibrations[0].linear_kernel,
            "calibrations": [msgspec.to_builtins(one) for one in calibrations],
        },
        source_commit=source[0],
        source_dirty=source[1],
        files={},
    )


def _default_name(folder: ModelFolder) -> str:
    """Name a set after hardware and model, such as ``epyc-2core-smollm2-135m``."""
    words = f"{cpu_name(cpu_model())} {num_cores()}core {folder.label}"
    return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")

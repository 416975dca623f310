"""What plans of experiments are tested with: the real tokenizer and model shape, and a machine of round speeds."""

from __future__ import annotations

import hashlib
from dataclasses import asdict
from functools import cache

import msgspec

from demo_engine.api.tokenizer import PromptTokenizer
from demo_engine.core.config import EngineConfig
from demo_engine.experiments.context import Context
from demo_engine.experiments.plan import ArmPlan, ExperimentPlan
from demo_engine.recorder.calibration import Calibration
from demo_engine.runner.shape import ModelShape
from demo_engine.weights import open_model
from traces.outcomes import Claim
from traces.schema import Prediction
from traces.storage import canonical_json

ROUND_SPEEDS = Calibration(1, "cpu", 10e9, 50e9, 4000.0, "packed", "2.13.0", "0" * 40, "AVX2", None)


@cache
def make_context(*, quick: bool = False, calibration: Calibration = ROUND_SPEEDS) -> Context:
    """Return the context of the packaged model on a made-up machine."""
    folder = open_model()
    shape = ModelShape.from_config(folder.config())
    return Context(calibration, shape, PromptTokenizer(folder.path / "tokenizer.json"), EngineConfig(), quick)


def differing_settings(*arms: ArmPlan) -> set[str]:
    """Return the names of the engine's settings in which the arms differ."""
    settings = [asdict(arm.engine) for arm in arms]
    return {name for name in settings[0] if len({one[name] for one in settings}) > 1}


def is_sealed(prediction: Prediction) -> bool:
    """Whether the digest of a prediction is over all of its other fields."""
    fields = msgspec.to_builtins(prediction)
    seal = fields.pop("sha256")
    return seal == hashlib.sha256(canonical_json(fields)).hexdigest()


def is_reproducible(first: ExperimentPlan, second: ExperimentPlan) -> bool:
    """Whether two plans predict the same, whenever they were made."""
    return _without_time(first.prediction) == _without_time(second.prediction)


def claims_name_arms(plan: ExperimentPlan, claims: list[Claim]) -> bool:
    """Whether a plan has every arm that its claims compare."""
    return {arm for claim in claims for arm in (claim.first, claim.second)} <= {arm.id for arm in plan.arms}


def _without_time(prediction: Prediction) -> Prediction:
    return msgspec.structs.replace(prediction, made_wall_ns=0, sha256="")

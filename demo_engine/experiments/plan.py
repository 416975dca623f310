"""What an experiment consists of: arms that differ in one thing, runs that are made from a seed, a prediction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from demo_engine.client.records import RunPlan
from demo_engine.core.config import EngineConfig
from demo_engine.network.config import EdgeConfig
from traces.schema import Prediction


@dataclass(frozen=True)
class ArmPlan:
    """One setting of an experiment."""

    id: str
    """Short, such as ``A`` or ``n512``."""
    label: str
    """In the words of a slide, such as ``whole prompt in one step``."""
    engine: EngineConfig
    make_run: Callable[[int], RunPlan]
    """Makes a run from a seed; in one round all arms get the same seed, and so the same load."""
    settings: dict[str, Any] = field(default_factory=dict)
    """What this arm varies, by name; stored with the trace beside the engine's settings."""
    max_num_queued: int = 32
    """How many requests may wait at the server; more are refused."""
    new_process: bool = False
    """Start the engine anew for each run, and count its start as part of the first request."""
    edge: EdgeConfig = field(default_factory=EdgeConfig)
    """What stands between client and server."""


@dataclass(frozen=True)
class ExperimentPlan:
    """One experiment, planned and predicted, before its first run."""

    id: str
    """Such as ``e08``."""
    name: str
    """Such as ``chunked-prefill``."""
    question: str
    arms: list[ArmPlan]
    prediction: Prediction
    arrival: str
    """The arrival process in words, such as ``all at once`` or ``Poisson, 1.2 a second``."""
    num_rounds: int
    """Runs of each arm; the arms alternate from run to run."""
    budget_s: float
    """No round begins after this much time; four are made in any case, with ``--quick`` one."""
    num_warmups: int = 1
    """Runs of each arm before the first that counts; they stay in the file, marked."""

    @property
    def file(self) -> str:
        """Name of its file in a set."""
        return f"{self.id}-{self.name}.json"

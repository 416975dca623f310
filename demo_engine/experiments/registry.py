"""All experiments, in the order in which they are measured.

The request that the film follows comes first. Experiments on the same engine stand together, so that it starts once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module

from demo_engine.errors import UsageError
from demo_engine.experiments.context import Context
from demo_engine.experiments.plan import ExperimentPlan

_MODULES = (
    "e23_one_request",
    "e22_output_length",
    "e13_prompt_length",
    "e08_chunked_prefill",
    "e10_kv_cache",
    "e24_cold_start",
    "e11_prefix_hit",
    "e04_template",
    "e16_context",
    "e07_batching",
    "e09_load",
    "e12_pool_size",
    "e14_batch_size",
)


@dataclass(frozen=True)
class Entry:
    """One experiment that can be asked for."""

    id: str
    name: str
    question: str
    plan: Callable[[Context], ExperimentPlan]

    @property
    def file(self) -> str:
        """Name of its file in a set."""
        return f"{self.id}-{self.name}.json"


def all_experiments() -> list[Entry]:
    """Return every experiment."""
    modules = [import_module(f"demo_engine.experiments.{name}") for name in _MODULES]
    return [Entry(module.ID, module.NAME, module.QUESTION, module.plan) for module in modules]


def select(wanted: Sequence[str]) -> list[Entry]:
    """Return the experiments that were asked for by id or by name, in the order of all; all without a wish.

    Raises:
        UsageError: There is none of that id or name.
    """
    entries = all_experiments()
    words = [word.strip().lower() for part in wanted for word in part.split(",") if word.strip()]
    unknown = [word for word in words if all(word not in _names(entry) for entry in entries)]
    if unknown:
        known = ", ".join(f"{entry.id} {entry.name}" for entry in entries)
        raise UsageError(f"--only {unknown[0]}: no such experiment; there are {known}")
    return [entry for entry in entries if not words or any(word in _names(entry) for word in words)]


def _names(entry: Entry) -> set[str]:
    number = entry.id.removeprefix("e").lstrip("0")
    return {entry.id, f"e{number}", entry.name, entry.file.removesuffix(".json")}

"""What two sets were recorded with, and whether their rows compare like with like."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from traces.arm_values import finished_subjects
from traces.schema import Arm, Experiment, SetHeader
from traces.storage import SHORT_HASH_CHARS

_HARDWARE = ("cpu", "gpu", "memory", "numa")
"""How the names of the fingerprint's fields begin that matter most."""
_SAID_BY_HEADER = ("commit", "dirty", "dtype", "model_sha256")
"""Fields of the fingerprint that a set's header says in other words."""
_NAMED_SETTINGS = 6


@dataclass(frozen=True, slots=True)
class Difference:
    """A fact of the machine, the model, the engine or the source that is not the same in both sets."""

    field: str
    first: Any
    second: Any


def differences(first: SetHeader, second: SetHeader) -> Iterator[Difference]:
    """Yield each fact that differs: machine, model and commit first, then its fingerprint and its engine."""
    ours, theirs = _facts(first), _facts(second)
    for field in ours | theirs:
        if ours.get(field) != theirs.get(field):
            yield Difference(field, ours.get(field), theirs.get(field))


def _facts(header: SetHeader) -> dict[str, Any]:
    """Return what a set says of its machine, model, source and engine; what was calibrated is measured, and no fact."""
    model = header.model
    engine = {name: value for name, value in header.engine.items() if name != "calibrations"}
    machine = {name: value for name, value in header.fingerprint.stable.items() if name not in _SAID_BY_HEADER}
    return {
        "machine label": header.fingerprint.label,
        "model": model.id,
        "model dtype": model.dtype,
        "model weights": model.weights,
        **{f"model {file.file}": file.sha256[:SHORT_HASH_CHARS] for file in model.files},
        "commit": header.source_commit[:SHORT_HASH_CHARS] + (" with changes" if header.source_dirty else ""),
        **dict(sorted(flatten(machine).items(), key=lambda fact: not fact[0].startswith(_HARDWARE))),
        **flatten(engine, "engine "),
    }


def flatten(fields: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested fields as one table, ``a`` within ``b`` as ``b.a``."""
    flat: dict[str, Any] = {}
    for name, value in fields.items():
        if isinstance(value, Mapping):
            flat |= flatten(value, f"{prefix}{name}.")
        else:
            flat[prefix + name] = value
    return flat


def model_notes(first: SetHeader, second: SetHeader) -> list[str]:
    """Say it where two sets hold different models."""
    ours, theirs = first.model, second.model
    if (ours.id, ours.files, ours.dtype, ours.weights) == (theirs.id, theirs.files, theirs.dtype, theirs.weights):
        return []
    names = [f"{model.label} ({model.dtype}, {model.weights})" for model in (ours, theirs)]
    return [f"another model, so other work: {names[0]} and {names[1]}"]


def work_notes(experiment: Experiment, arm: Arm, other_experiment: Experiment, other_arm: Arm) -> list[str]:
    """Say it where an arm had another prompt or other settings in the other set."""
    where = f"{experiment.id} {arm.id}"
    notes = []
    first, second = finished_subjects(experiment, arm), finished_subjects(other_experiment, other_arm)
    texts = [{subject.request.prompt_text for subject in subjects} for subjects in (first, second)]
    lengths = [{subject.request.num_prompt_tokens for subject in subjects} for subjects in (first, second)]
    if lengths[0] != lengths[1] or (texts[0] != texts[1] and None not in texts[0] | texts[1]):
        notes.append(f"{where}: another prompt, so other work ({_span(lengths[0])} and {_span(lengths[1])} tokens)")
    ours, theirs = flatten(arm.settings), flatten(other_arm.settings)
    changed = [name for name in ours | theirs if ours.get(name) != theirs.get(name)]
    if changed:
        more = f" and {len(changed) - _NAMED_SETTINGS} more" if len(changed) > _NAMED_SETTINGS else ""
        notes.append(f"{where}: other settings: {', '.join(changed[:_NAMED_SETTINGS])}{more}")
    return notes


def _span(lengths: set[int]) -> str:
    if not lengths:
        return "no"
    low, high = min(lengths), max(lengths)
    return str(low) if low == high else f"{low}–{high}"

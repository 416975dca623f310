"""Settings as flags of a command line, made from the dataclass that holds them so that none is forgotten."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Literal, get_args, get_origin, get_type_hints

from demo_engine.core.config import EngineConfig
from demo_engine.errors import UsageError

MAX_NUMBER = 2**31 - 1
_SHORT = {"num_threads": "--threads"}


def add_flags(
    parser: argparse.ArgumentParser, config: type = EngineConfig, title: str = "settings of the engine"
) -> None:
    """Add a flag for each setting; those that are not given leave no trace in the parsed options."""
    group = parser.add_argument_group(title)
    types = get_type_hints(config)
    for field in dataclasses.fields(config):
        names = [f"--{field.name.replace('_', '-')}"]
        if field.name in _SHORT:
            names.insert(0, _SHORT[field.name])
        group.add_argument(
            *names, dest=field.name, default=argparse.SUPPRESS,
            help=f"{field.metadata['meaning']} (default: {field.default})",
            **_kind(types[field.name], field.metadata["low"]),
        )  # fmt: skip


def given_settings(options: argparse.Namespace, config: type = EngineConfig) -> dict[str, Any]:
    """Return the settings that were given as flags."""
    fields = dataclasses.fields(config)
    return {field.name: getattr(options, field.name) for field in fields if hasattr(options, field.name)}


def make_config(settings: Mapping[str, Any], model_limit: int) -> EngineConfig:
    """Return a configuration with these settings, and the defaults of all others.

    Args:
        settings: By the names of the fields.
        model_limit: Most tokens of a request that the model can hold; also the default of ``max_model_len``.

    Raises:
        UsageError: More was asked of the model than it can hold, or two settings contradict each other.
    """
    config = EngineConfig(**{"max_model_len": model_limit, **settings})
    if config.max_model_len > model_limit:
        raise UsageError(f"--max-model-len {config.max_model_len}: this model holds at most {model_limit} tokens")
    if config.prompt_lookup_min > config.prompt_lookup_max:
        raise UsageError(
            f"--prompt-lookup-min {config.prompt_lookup_min}: at most --prompt-lookup-max, {config.prompt_lookup_max}"
        )
    return config


def arguments_for(config: Any) -> list[str]:
    """Return the flags that give exactly these settings."""
    arguments = []
    for name, value in dataclasses.asdict(config).items():
        flag = name.replace("_", "-")
        if isinstance(value, bool):
            arguments.append(f"--{flag}" if value else f"--no-{flag}")
        else:
            arguments.append(f"--{flag}={value}")
    return arguments


def whole_number(low: int, high: int) -> Callable[[str], int]:
    """Return a parser of whole numbers within bounds."""

    def parse(text: str) -> int:
        if not text.isdecimal() or not low <= int(text) <= high:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {low} to {high}")
        return int(text)

    return parse


def _kind(hint: Any, low: int) -> dict[str, Any]:
    if hint is bool:
        return {"action": argparse.BooleanOptionalAction}
    if get_origin(hint) is Literal:
        return {"choices": get_args(hint)}
    return {"type": whole_number(low, MAX_NUMBER), "metavar": "N"}

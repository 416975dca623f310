"""An engine process that raises at one point of a step, for prompts that begin in one way.

``python -m raising_engine`` stands for ``python -m demo_engine.runner``; $RAISE_AT names the runner's method.
"""

from __future__ import annotations

import os
import runpy

POISON_IDS = [7, 7, 7]


def poison(runner_class, name: str) -> None:
    """Make a method of the runner raise once a poisoned request has been laid out."""
    prepare, sound = runner_class.prepare, getattr(runner_class, name)
    is_poisoned = False

    def look(self, items):
        nonlocal is_poisoned
        is_poisoned |= any(list(item.request.prompt_ids[: len(POISON_IDS)]) == POISON_IDS for item in items)
        return raising(self, items) if name == "prepare" else prepare(self, items)

    def raising(self, *arguments):
        if is_poisoned:
            raise RuntimeError(f"raised on purpose in {name}")
        return sound(self, *arguments)

    setattr(runner_class, name, raising)
    runner_class.prepare = look


if __name__ == "__main__":
    from demo_engine.runner.runner import TorchRunner

    poison(TorchRunner, os.environ["RAISE_AT"])
    runpy.run_module("demo_engine.runner", run_name="__main__")

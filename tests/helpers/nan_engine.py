"""An engine process whose model is broken for prompts that begin in one way: their logits are not numbers.

``python -m nan_engine`` stands for ``python -m demo_engine.runner``, with everything else as it is.
"""

from __future__ import annotations

import runpy

POISON_IDS = [7, 7, 7]


def poison(runner_class) -> None:
    """Make the model's logits NaN in the rows of prompts that begin with the poisoned ids."""
    sound = runner_class.sample

    def sample(self, logits, requests):
        logits = logits.clone()
        for row, request in enumerate(requests):
            if list(request.prompt_ids[: len(POISON_IDS)]) == POISON_IDS:
                logits[row] = float("nan")
        return sound(self, logits, requests)

    runner_class.sample = sample


if __name__ == "__main__":
    from demo_engine.runner.runner import TorchRunner

    poison(TorchRunner)
    runpy.run_module("demo_engine.runner", run_name="__main__")

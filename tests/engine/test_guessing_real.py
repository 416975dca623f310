"""Guessing on the real model: the same tokens, in fewer steps where the text repeats what stands in the prompt."""

from __future__ import annotations

from dataclasses import replace

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.engine]

torch = pytest.importorskip("torch")

from demo_engine.api.template import Message, render  # noqa: E402 (after torch is known to be here)
from demo_engine.api.tokenizer import PromptTokenizer  # noqa: E402
from demo_engine.core.config import EngineConfig  # noqa: E402
from demo_engine.core.loop import EngineLoop  # noqa: E402
from demo_engine.core.request import EngineRequest, SamplingParams  # noqa: E402
from demo_engine.runner.runner import TorchRunner  # noqa: E402
from demo_engine.weights import open_model  # noqa: E402
from engine_fakes import Collector, FakeClock  # noqa: E402

PLAIN = EngineConfig(num_kv_blocks=120)
GUESSING = replace(PLAIN, num_speculative_tokens=4)
LIST = "apples, pears, plums, figs, grapes, lemons, melons, cherries, peaches, oranges, mangoes, dates"
PROMPTS = {
    "copy": f"Repeat this list word for word: {LIST}.",
    "extract": "Anna lives in Oslo, Ben in Rome, Cleo in Lima. Write down who lives where, one a line.",
    "code": "Write a Python function that adds two numbers, and one that subtracts them.",
    "free": "Write a short story about a lighthouse.",
}
NUM_TOKENS = 48


@pytest.fixture(scope="module", params=["none", "int8"])
def runner(request):
    """The packaged model in each arithmetic, loaded once."""
    torch.set_num_threads(1)
    return TorchRunner(open_model().path, replace(PLAIN, quantization=request.param))


@pytest.fixture(scope="module")
def prompts():
    """Each prompt as token ids, in the chat template."""
    tokenizer = PromptTokenizer(open_model().path / "tokenizer.json")
    return {name: tuple(tokenizer.encode(render([Message("user", text)]))) for name, text in PROMPTS.items()}


def run(runner, config, prompts, **sampling):
    """Serve the prompts together; return the tokens of each, and the record of steps."""
    output = Collector()
    loop = EngineLoop(config, runner, output, FakeClock())
    for name, ids in prompts.items():
        loop.submit(EngineRequest(name, ids, SamplingParams(NUM_TOKENS, ignore_eos=True, **sampling)))
    while loop.has_work:
        loop.step()
    return output.tokens_by_id, loop.log.columns(0, loop.log.num_steps - 1)


@pytest.mark.parametrize(
    "sampling",
    [{}, {"temperature": 0.8, "seed": 3, "top_p": 0.9}, {"repetition_penalty": 1.1, "frequency_penalty": 0.2}],
    ids=["greedy", "drawn", "penalised"],
)
def test_no_token_changes(runner, prompts, sampling):
    """Served together, with guesses and without, every prompt gets the same tokens to the last."""
    plain, _ = run(runner, PLAIN, prompts, **sampling)
    guessing, columns = run(runner, GUESSING, prompts, **sampling)
    assert guessing == plain
    assert sum(columns["draft_tokens"]) > sum(columns["accepted_tokens"]) > 0


def test_a_copy_takes_less_than_half_the_steps(runner, prompts):
    """On the copy prompt at least two guesses a step are accepted, that is three tokens a step."""
    plain, _ = run(runner, PLAIN, {"copy": prompts["copy"]})
    guessing, columns = run(runner, GUESSING, {"copy": prompts["copy"]})
    num_decodes = sum(columns["decode_tokens"])
    print(f"{sum(columns['accepted_tokens']) / num_decodes:.2f} accepted tokens a step")  # noqa: T201 (the point)
    assert guessing == plain
    assert sum(columns["accepted_tokens"]) >= 2 * num_decodes

"""Our decoder against transformers on the packaged file, which transformers converts on its own."""

from __future__ import annotations

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.engine]

NUM_TOKENS = 64
PROMPTS = [
    "What is the capital of France?",
    "Write a haiku about rain on a tin roof.",
    "List five uses of a paper clip.",
    "Explain to a child why the sky is blue.",
    "Übersetze ins Englische: Der frühe Vogel fängt den Wurm.",
    "def fibonacci(n):",
    "Count from 1 to 20.",
    "Summarise: the meeting moved from Monday to Thursday because the room was taken.",
]


@pytest.fixture(scope="module")
def reference():
    """Transformers' own model and tokenizer, read from the GGUF file without our conversion."""
    import torch
    from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM
    from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint

    from demo_engine.weights.package import find_gguf

    torch.set_num_threads(1)
    path = find_gguf()
    model = LlamaForCausalLM(LlamaConfig(**load_gguf_checkpoint(str(path))["config"]))
    tensors = load_gguf_checkpoint(str(path), return_tensors=True, model_to_load=model)["tensors"]
    missing, unexpected = model.load_state_dict(tensors, strict=False)
    assert (missing, unexpected) == (["lm_head.weight"], [])  # the output matrix is the embedding
    model.tie_weights()
    return model.eval(), AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)


def test_greedy_tokens_equal_those_of_transformers(reference):
    """Eight chats of 64 tokens each, decoded together in one batch here and one by one there: the same tokens."""
    import torch

    from demo_engine.api.template import Message, render
    from demo_engine.api.tokenizer import PromptTokenizer
    from demo_engine.core.config import EngineConfig
    from demo_engine.core.loop import EngineLoop
    from demo_engine.core.request import EngineRequest, SamplingParams
    from demo_engine.runner.runner import TorchRunner
    from demo_engine.weights import open_model
    from engine_fakes import Collector, FakeClock

    model, tokenizer = reference
    folder = open_model()
    ours = PromptTokenizer(folder.path / "tokenizer.json")
    prompts = [ours.encode(render([Message("user", text)])) for text in PROMPTS]
    for text, ids in zip(PROMPTS, prompts, strict=True):
        assert ids == tokenizer.apply_chat_template(
            [{"role": "user", "content": text}], add_generation_prompt=True, return_dict=False
        )
    output = Collector()
    loop = EngineLoop(EngineConfig(), TorchRunner(folder.path, EngineConfig()), output, FakeClock())
    for index, ids in enumerate(prompts):
        loop.submit(EngineRequest(f"r{index}", tuple(ids), SamplingParams(NUM_TOKENS, ignore_eos=True)))
    while loop.has_work:
        loop.step()
    assert loop.scheduler.blocks.num_used == 0
    compared = 0
    for index, ids in enumerate(prompts):
        with torch.inference_mode():
            expected = model.generate(
                torch.tensor([ids]), max_new_tokens=NUM_TOKENS, min_new_tokens=NUM_TOKENS, do_sample=False,
                eos_token_id=None, pad_token_id=0,
            )  # fmt: skip
        assert output.tokens_by_id[f"r{index}"] == expected[0, len(ids) :].tolist(), PROMPTS[index]
        compared += 1
    assert compared == len(PROMPTS)
    assert len({token for tokens in output.tokens_by_id.values() for token in tokens}) > 100


def test_tokenizers_agree_on_awkward_text(reference):
    """Digits, spaces, accents, emoji, code and special tokens are cut as transformers cuts them."""
    from demo_engine.api.tokenizer import PromptTokenizer
    from demo_engine.weights import open_model

    _, tokenizer = reference
    ours = PromptTokenizer(open_model().path / "tokenizer.json")
    texts = [
        "  two  spaces", "3.14159 + 2025", "naïve café ☕ 👩‍👩‍👧", "\t\tif x:\n\n\n", "don't we'll I'm", "<|im_end|>x",
        "日本語のテキスト", "a" * 300, "\u00a0\u2003mixed", "",
    ]  # fmt: skip
    for text in texts:
        assert ours.encode(text) == tokenizer(text, add_special_tokens=False)["input_ids"], text
        if text and "<|" not in text:
            detokenizer = ours.detokenizer()
            assert "".join(map(detokenizer.push, ours.encode(text))) + detokenizer.finish() == text

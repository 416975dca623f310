"""The chat template, against the words that the model was trained on."""

from __future__ import annotations

from demo_engine.api.template import DEFAULT_SYSTEM, Message, render


def test_a_conversation_without_a_system_message_gets_the_models_own():
    """The default system message opens the prompt and the assistant's turn is left open."""
    assert render([Message("user", "Hi")]) == (
        f"<|im_start|>system\n{DEFAULT_SYSTEM}<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
    )


def test_a_given_system_message_replaces_the_default():
    """A caller's system message stands alone."""
    text = render([Message("system", "Be brief."), Message("user", "Hi"), Message("assistant", "Yo")])
    assert text.startswith("<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\n")
    assert DEFAULT_SYSTEM not in text

"""The chat template of SmolLM2, written out: a template from a model file would be code from a stranger."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

DEFAULT_SYSTEM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"


class Message(NamedTuple):
    """One message of a conversation."""

    role: str
    content: str


def render(messages: Sequence[Message]) -> str:
    """Return the conversation as the text that the model was trained on, open for the assistant's answer."""
    turns = list(messages)
    if not turns or turns[0].role != "system":
        turns.insert(0, Message("system", DEFAULT_SYSTEM))
    return "".join(f"<|im_start|>{role}\n{content}<|im_end|>\n" for role, content in turns) + "<|im_start|>assistant\n"

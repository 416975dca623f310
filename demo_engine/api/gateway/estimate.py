"""How many tokens a request may need, said before it is tokenized."""

from __future__ import annotations

from demo_engine.api.validation import ChatRequest, CompletionRequest

BYTES_PER_TOKEN = 4
"""Of English text, roughly; what a request really used is settled when it is over."""


def estimated_prompt_tokens(body: ChatRequest | CompletionRequest) -> int:
    """Return about how many tokens the prompt has; of token ids it is known."""
    if isinstance(body, ChatRequest):
        return _tokens_of("".join(message.plain().content for message in body.messages))
    if isinstance(body.prompt, str):
        return _tokens_of(body.prompt)
    return sum(_tokens_of(item) if isinstance(item, str) else 1 for item in body.prompt)


def _tokens_of(text: str) -> int:
    return -(-len(text.encode("utf-8", "surrogatepass")) // BYTES_PER_TOKEN)

"""What a request body may hold. Fields that are unknown are ignored; values that are not supported are refused."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

import msgspec

from demo_engine.api.errors import ApiError
from demo_engine.api.template import Message

MAX_MESSAGES = 256
MAX_TOKENS_LIMIT = 4096
_Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
_MaxTokens = Annotated[int, msgspec.Meta(ge=1, le=MAX_TOKENS_LIMIT)]
_Temperature = Annotated[float, msgspec.Meta(ge=0, le=2)]


class TextPart(msgspec.Struct, frozen=True):
    """A part of a message's content; only text is supported."""

    type: Literal["text"]
    text: str


class ChatMessage(msgspec.Struct, frozen=True):
    """A message as clients send it."""

    role: Literal["developer", "system", "user", "assistant"]
    content: str | list[TextPart]

    def plain(self) -> Message:
        """Return it as the template wants it."""
        text = self.content if isinstance(self.content, str) else "".join(part.text for part in self.content)
        return Message("system" if self.role == "developer" else self.role, text)


class StreamOptions(msgspec.Struct, frozen=True):
    """Options of a streamed reply."""

    include_usage: bool = False


class GenerationRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What chat and plain completions have in common. The fields without an effect are here to be checked."""

    model: str
    max_tokens: _MaxTokens | None = None
    temperature: _Temperature | None = None
    seed: _Int64 | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    ignore_eos: bool | None = None
    """Extension: go on to ``max_tokens`` whatever the model says."""
    n: Any = None
    top_p: Any = None
    stop: Any = None
    presence_penalty: Any = None
    frequency_penalty: Any = None
    logit_bias: Any = None
    logprobs: Any = None
    top_logprobs: Any = None
    tools: Any = None
    functions: Any = None
    response_format: Any = None
    best_of: Any = None
    echo: Any = None
    suffix: Any = None

    @property
    def wants_usage(self) -> bool:
        """Whether a streamed reply ends with a usage chunk."""
        return self.stream_options is not None and self.stream_options.include_usage


class ChatRequest(GenerationRequest, frozen=True, kw_only=True):
    """Body of ``/v1/chat/completions``."""

    messages: Annotated[list[ChatMessage], msgspec.Meta(min_length=1, max_length=MAX_MESSAGES)]
    max_completion_tokens: _MaxTokens | None = None


class CompletionRequest(GenerationRequest, frozen=True, kw_only=True):
    """Body of ``/v1/completions``."""

    prompt: str | list[_Int64 | str]
    """A text, a list that holds one text, or token ids."""


_NEUTRAL: dict[str, tuple[Any, ...]] = {
    "n": (1,),
    "top_p": (1,),
    "stop": ([],),
    "presence_penalty": (0,),
    "frequency_penalty": (0,),
    "logit_bias": ({},),
    "logprobs": (False, 0),
    "top_logprobs": (0,),
    "tools": ([],),
    "functions": ([],),
    "response_format": ({"type": "text"},),
    "best_of": (1,),
    "echo": (False,),
    "suffix": ("",),
}
"""Field → the values under which it has no effect."""

_Body = TypeVar("_Body", bound=GenerationRequest)


def parse(body: bytes, kind: type[_Body]) -> _Body:
    """Decode and check a body.

    Raises:
        ApiError: It is not JSON, a field has a wrong type or range, or asks for what is not supported (400).
    """
    try:
        request = msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError as error:
        _, _, place = str(error).partition(" - at `$.")
        raise ApiError(400, str(error), param=place.rstrip("`") or None, code="invalid_value") from error
    except (msgspec.DecodeError, RecursionError) as error:
        raise ApiError(400, f"the body is not valid JSON: {error}", code="invalid_json") from error
    for field, neutral in _NEUTRAL.items():
        value = getattr(request, field)
        if value is not None and value not in neutral:
            raise ApiError(400, f"{field} is not supported here; leave it out", param=field, code="unsupported_value")
    return request

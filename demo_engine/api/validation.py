"""What a request body may hold. Fields that are unknown are ignored; values that are not supported are refused."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

import msgspec

from demo_engine.api.errors import ApiError
from demo_engine.api.schemas import ResponseFormat
from demo_engine.api.template import Message

MAX_MESSAGES = 256
MAX_TOKENS_LIMIT = 4096
MAX_STOPS = 4
MAX_STOP_BYTES = 64
_Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
_Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
_MaxTokens = Annotated[int, msgspec.Meta(ge=1, le=MAX_TOKENS_LIMIT)]
_Temperature = Annotated[float, msgspec.Meta(ge=0, le=2)]
_Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
_PositiveShare = Annotated[float, msgspec.Meta(gt=0, le=1)]
_Penalty = Annotated[float, msgspec.Meta(ge=-2, le=2)]
_Factor = Annotated[float, msgspec.Meta(ge=0.1, le=10)]
_TopK = Annotated[int, msgspec.Meta(ge=-1, le=2**31 - 1)]
_Stop = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_STOP_BYTES)]


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


Messages = Annotated[list[ChatMessage], msgspec.Meta(min_length=1, max_length=MAX_MESSAGES)]


class StreamOptions(msgspec.Struct, frozen=True):
    """Options of a streamed reply."""

    include_usage: bool = False


class GenerationRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What chat and plain completions have in common. The fields of type Any are here to be checked."""

    model: str
    max_tokens: _MaxTokens | None = None
    temperature: _Temperature | None = None
    top_p: _PositiveShare | None = None
    seed: _Int64 | None = None
    presence_penalty: _Penalty | None = None
    frequency_penalty: _Penalty | None = None
    stop: _Stop | Annotated[list[_Stop], msgspec.Meta(max_length=MAX_STOPS)] | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    top_k: _TopK | None = None
    """Extension, as are the next four. 0 and -1 draw from all tokens."""
    min_p: _Share | None = None
    repetition_penalty: _Factor | None = None
    priority: _Int32 | None = None
    """Lower is served earlier, if the engine schedules by priority."""
    ignore_eos: bool | None = None
    """Go on to ``max_tokens`` whatever the model says."""
    response_format: ResponseFormat | None = None
    n: Any = None
    logit_bias: Any = None
    tools: Any = None
    functions: Any = None
    chat_template: Any = None
    best_of: Any = None
    echo: Any = None
    suffix: Any = None

    @property
    def wants_usage(self) -> bool:
        """Whether a streamed reply ends with a usage chunk."""
        return self.stream_options is not None and self.stream_options.include_usage

    @property
    def stops(self) -> list[str]:
        """The stop strings."""
        return [self.stop] if isinstance(self.stop, str) else self.stop or []


class ChatRequest(GenerationRequest, frozen=True, kw_only=True):
    """Body of ``/v1/chat/completions``."""

    messages: Messages
    max_completion_tokens: _MaxTokens | None = None
    logprobs: bool | None = None
    top_logprobs: Annotated[int, msgspec.Meta(ge=0, le=20)] | None = None

    @property
    def num_logprobs(self) -> int | None:
        """How many likely tokens to report beside each chosen one; None reports nothing."""
        return (self.top_logprobs or 0) if self.logprobs else None


class CompletionRequest(GenerationRequest, frozen=True, kw_only=True):
    """Body of ``/v1/completions``."""

    prompt: str | list[_Int64 | str]
    """A text, a list that holds one text, or token ids."""
    logprobs: Annotated[int, msgspec.Meta(ge=0, le=20)] | None = None

    @property
    def num_logprobs(self) -> int | None:
        """How many likely tokens to report beside each chosen one; None reports nothing."""
        return self.logprobs


class TokenizeRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Body of ``/tokenize``: a text."""

    prompt: str
    model: str | None = None


_NEUTRAL: dict[str, tuple[Any, ...]] = {
    "n": (1,),
    "logit_bias": ({},),
    "tools": ([],),
    "functions": ([],),
    "chat_template": (),
    "best_of": (1,),
    "echo": (False,),
    "suffix": ("",),
}
"""Field → the values under which it has no effect."""

_Body = TypeVar("_Body", bound=msgspec.Struct)


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
    if isinstance(request, GenerationRequest):
        _refuse_unsupported(request)
    return request


def _refuse_unsupported(request: GenerationRequest) -> None:
    for field, neutral in _NEUTRAL.items():
        value = getattr(request, field)
        if value is not None and value not in neutral:
            raise ApiError(400, f"{field} is not supported here; leave it out", param=field, code="unsupported_value")
    if any(len(stop.encode("utf-8", "surrogatepass")) > MAX_STOP_BYTES for stop in request.stops):
        raise ApiError(400, f"a stop string has at most {MAX_STOP_BYTES} bytes", param="stop", code="invalid_value")
    if isinstance(request, ChatRequest) and request.top_logprobs and not request.logprobs:
        raise ApiError(400, "top_logprobs needs logprobs", param="top_logprobs", code="invalid_value")

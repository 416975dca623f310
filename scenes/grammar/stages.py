"""How spans become lanes, stages and colours: fixed for the whole film."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from traces.schema import Component
from traces.spans import Span

LANES: tuple[tuple[str, tuple[Component, ...]], ...] = (
    ("Client", ("client", "network")),
    ("Gateway", ("gateway",)),
    ("Tokenizer", ("tokenizer",)),
    ("Router", ("router",)),
    ("Queue", ("queue",)),
    ("Model", ("model",)),
    ("Stream", ("sampler", "stream")),
)
"""The seven lanes, top to bottom. The order never changes; the model's lane takes its word from the trace."""


@dataclass(frozen=True, slots=True)
class Stage:
    """Spans that a reader knows by one name."""

    name: str
    names: tuple[str, ...]
    """The span names of the stage."""
    spans: tuple[Span, ...]

    @property
    def duration_ns(self) -> int:
        """Sum of its spans."""
        return sum(span.duration_ns for span in self.spans)

    def binding(self, request_id: str) -> str:
        """The binding that resolves to this stage's sum."""
        return f"{request_id}/names/{'+'.join(self.names)}"


def stage_name(span: Span) -> str:
    """Return the word for a span's stage: prefill and decode are told apart, all else goes by component."""
    if span.component == "model":
        return span.name
    return "unexplained" if span.component == "unattributed" else span.component


def stages(path: Iterable[Span]) -> list[Stage]:
    """Group a path into stages, in order of first appearance."""
    grouped: dict[str, list[Span]] = {}
    for span in path:
        grouped.setdefault(stage_name(span), []).append(span)
    return [
        Stage(name, tuple(dict.fromkeys(span.name for span in spans)), tuple(spans)) for name, spans in grouped.items()
    ]


def lane_of(span: Span) -> int | None:
    """Return the index of the span's lane, or None for what has no name yet."""
    for index, (_, components) in enumerate(LANES):
        if span.component in components:
            return index
    return None


def role(span: Span) -> str:
    """Return the span's colour role in ``theme.toml``: hue follows role everywhere."""
    if span.component == "model":
        return "prefill" if span.name == "prefill" else "decode"
    return "unnamed" if span.component == "unattributed" else span.component


def waits(span: Span) -> bool:
    """Return whether nobody works during the span, so that it is hatched."""
    return span.kind == "wait" and span.component != "unattributed"


def model_lane_name(path: Iterable[Span]) -> str:
    """Return the word for the model's lane: "GPU" only where a GPU's clock measured it."""
    return "GPU" if any(span.component == "model" and span.clock == "gpu" for span in path) else "Model (CPU)"

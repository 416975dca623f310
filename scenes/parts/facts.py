"""Texts and marks that state measurements: each knows what it is bound to, so that it can be held to the trace."""

from __future__ import annotations

from collections.abc import Sequence

from scenes.grammar.stages import Stage
from scenes.ledger import Value
from scenes.render.labels import Anchor, Label, TextClaim
from scenes.render.marks import MarkInfo, MarkKind
from scenes.render.metrics import TextStyle, measure
from traces.bindings import Subject
from traces.spans import Span
from traces.wording import FORMATS

Piece = tuple[str, TextStyle]
"""A part of a text, with ``{0}``, ``{1}`` … for its values, and its style."""
Quoted = tuple[str, str]
"""A binding below the request, such as ``ttft``, and the format that words it."""


class Facts:
    """What can be said about one request.

    Args:
        subject: The request.
        source: Its key in the clip's ledger.
    """

    def __init__(self, subject: Subject, source: str) -> None:
        self.subject = subject
        self.source = source

    def binding(self, name: str) -> str:
        """Return the full binding of a name below the request."""
        return f"{self.subject.request.id}/{name}"

    def value(self, name: str) -> float:
        """Return what a name below the request resolves to."""
        return self.subject.resolve(self.binding(name)).value

    def words(self, quoted: Quoted) -> str:
        """Return a value as it is worded."""
        name, form = quoted
        return FORMATS[form](self.value(name))

    def sum_of(self, stage: Stage) -> Quoted:
        """Return the quote of a stage's time."""
        return f"names/{'+'.join(stage.names)}", "stage"

    def runs(self, pieces: Sequence[Piece], quotes: Sequence[Quoted]) -> list[Piece]:
        """Fill the values into a text."""
        words = [self.words(quoted) for quoted in quotes]
        return [(piece.format(*words), style) for piece, style in pieces]

    def width_px(self, pieces: Sequence[Piece], quotes: Sequence[Quoted]) -> float:
        """Return how wide a text will be."""
        return measure(self.runs(pieces, quotes)).width_px

    def label(
        self,
        pieces: Sequence[Piece],
        quotes: Sequence[Quoted],
        x: float,
        baseline_y: float,
        text_id: str,
        anchor: Anchor = "start",
        behind: str | None = None,
    ) -> Label:
        """Return a text that quotes measurements."""
        label = Label(self.runs(pieces, quotes), x, baseline_y, anchor=anchor)
        label.claim = self.claim([piece for piece, _ in pieces], quotes, text_id, behind)
        return label

    def claim(
        self, pieces: Sequence[str], quotes: Sequence[Quoted], text_id: str, behind: str | None = None
    ) -> TextClaim:
        """Return what a text that quotes measurements says to the ledger."""
        values = [Value(self.binding(name), self.source, form) for name, form in quotes]
        return TextClaim(text_id, "".join(pieces), values, behind=behind)

    def mark(self, kind: MarkKind, name: str, row: str, axis: str = "main", readable: bool = True) -> MarkInfo:
        """Return the mark of a metric that has a place on the axis."""
        measured = self.subject.resolve(self.binding(name))
        start_ns = measured.start_ns or 0
        return MarkInfo(
            f"{row}/{name}", kind, self.binding(name), self.source, axis, start_ns, round(measured.value), readable
        )

    def span_mark(
        self, span: Span, row: str, axis: str = "main", readable: bool = True, cut_right: bool = False
    ) -> MarkInfo:
        """Return the mark of a span's bar."""
        return MarkInfo(
            f"{row}/{span.id}", "bar", span.id, self.source, axis, span.start_ns, span.duration_ns,
            readable, cut_right=cut_right,
        )  # fmt: skip

"""Measured figures beside their baselines, as records and as a table. A figure that misses its target is still one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

DIGITS = 4
"""Significant digits that a record keeps."""


@dataclass(frozen=True)
class Target:
    """What a figure should reach."""

    number: float
    rule: Literal["at most", "at least", "around"]
    of: Literal["value", "ratio"] = "value"
    tolerance: float = 0.0
    """How far ``around`` reaches to both sides."""

    def is_met(self, reached: float) -> bool:
        """Tell whether this value, or this ratio, is good enough."""
        if self.rule == "around":
            return abs(reached - self.number) <= self.tolerance
        return reached <= self.number if self.rule == "at most" else reached >= self.number

    def words(self, unit: str) -> str:
        """Return it as a table shows it."""
        if self.rule == "around":
            return f"{self.number:g} ± {self.tolerance:g} {unit}"
        sign = "≤" if self.rule == "at most" else "≥"
        return f"{sign} {self.number:g} {unit if self.of == 'value' else '× baseline'}"


@dataclass(frozen=True)
class Figure:
    """One measured figure; without a value, ``baseline`` says why."""

    name: str
    value: float | None
    unit: str
    baseline: str | None = None
    """What it is compared with: versions and options."""
    baseline_value: float | None = None
    target: Target | None = None

    @property
    def ratio(self) -> float | None:
        """Value over baseline."""
        if self.value is None or not self.baseline_value:
            return None
        return self.value / self.baseline_value

    @property
    def is_met(self) -> bool | None:
        """Whether the target is reached; ``None`` without a target or without what it is about."""
        reached = self.value if self.target is None or self.target.of == "value" else self.ratio
        return None if self.target is None or reached is None else self.target.is_met(reached)

    def record(self) -> dict[str, Any]:
        """Return it as ``--json`` prints it. The target of a throughput is a ratio, every other one is in the unit."""
        return {
            "figure": self.name,
            "value": _rounded(self.value),
            "unit": self.unit,
            "baseline": self.baseline,
            "baseline_value": _rounded(self.baseline_value),
            "ratio": _rounded(self.ratio),
            "target": None if self.target is None else self.target.number,
            "met": self.is_met,
        }


def not_measured(name: str, unit: str, reason: str, target: Target | None = None) -> Figure:
    """Return a figure that keeps its place although it could not be measured."""
    return Figure(name, None, unit, f"not measured: {reason}", target=target)


def table(figures: Sequence[Figure]) -> Iterable[str]:
    """Yield the lines of a table, and below it what each baseline is, beside the first figure that has it."""
    yield f"{'':<24}{'value':>12}  {'unit':<18}{'baseline':>10}{'ratio':>8}  target"
    for figure in figures:
        yield _row(figure).rstrip()
    yield ""
    for baseline, name in reversed({figure.baseline: figure.name for figure in reversed(figures)}.items()):
        if baseline:
            yield f"{name}: {baseline}"


def _row(figure: Figure) -> str:
    ratio = "" if figure.ratio is None else f"{figure.ratio:.2f}×"
    row = f"{figure.name:<24}{_shown(figure.value):>12}  {figure.unit:<18}{_shown(figure.baseline_value):>10}{ratio:>8}"
    if figure.target is None:
        return row
    outcome = {True: "met", False: "missed", None: "not measured"}[figure.is_met]
    return f"{row}  {figure.target.words(figure.unit)}: {outcome}"


def _rounded(number: float | None) -> float | None:
    return None if number is None else float(f"{number:.{DIGITS}g}")


def _shown(number: float | None) -> str:
    return "" if number is None else f"{number:.3g}" if abs(number) < 1000 else f"{number:.0f}"

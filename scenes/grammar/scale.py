"""The linear time axis: a round scale, its ticks and the words on them."""

from __future__ import annotations

import math
from dataclasses import dataclass

PLOT_X0_PX = 384.0
PLOT_WIDTH_PX = 1440.0
END_CLEAR_PX = 16.0
"""What stays free behind the longest bar, so that its end is seen to be an end."""
TICK_SPACING_MIN_PX = 180.0
LAST_TICK_CLEAR_PX = 80.0
"""Room for the last number and its unit before the plot ends."""

_SCALE_DIGITS = (1, 1.2, 1.5, 1.6, 2, 2.4, 2.5, 3, 3.2, 3.6, 4, 4.8, 5, 6, 7.2, 8, 9)
_TICK_DIGITS = (1, 2, 5)
_UNITS = ((1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs"))


@dataclass(frozen=True, slots=True)
class Scale:
    """A linear map from nanoseconds to px; the same everywhere on a picture unless a lens says otherwise."""

    px_per_ns: float
    x0_px: float = PLOT_X0_PX
    origin_ns: float = 0.0
    """The time that stands at ``x0_px``."""

    def x(self, time_ns: float) -> float:
        """Return where an instant stands."""
        return self.x0_px + (time_ns - self.origin_ns) * self.px_per_ns

    def width(self, duration_ns: float) -> float:
        """Return how long a duration is."""
        return duration_ns * self.px_per_ns

    def ns(self, width_px: float) -> float:
        """Return the duration that a width stands for."""
        return width_px / self.px_per_ns


@dataclass(frozen=True, slots=True)
class TickLabel:
    """A tick and its number; the unit stands on the last tick only."""

    value_ns: int
    number: str
    unit: str


def round_scale(longest_ns: int, width_px: float = PLOT_WIDTH_PX, x0_px: float = PLOT_X0_PX) -> Scale:
    """Return the largest round scale (px per unit) at which ``longest_ns`` fits the plot with its end clear."""
    limit = (width_px - END_CLEAR_PX) / max(1, longest_ns)
    exponent = math.floor(math.log10(limit))
    candidates = [digit * 10.0**power for power in (exponent, exponent - 1) for digit in _SCALE_DIGITS]
    return Scale(max(value for value in candidates if value <= limit), x0_px)


def ticks(scale: Scale, longest_ns: int, width_px: float = PLOT_WIDTH_PX) -> list[TickLabel]:
    """Return ticks at round values from 0 to the end of the plot, at least 180 px apart, in the longest bar's unit."""
    unit_ns, unit = next((pair for pair in _UNITS if longest_ns >= pair[0]), _UNITS[-1])
    step_min = scale.ns(TICK_SPACING_MIN_PX) / unit_ns
    exponent = math.floor(math.log10(step_min))
    steps = [digit * 10.0**power for power in (exponent, exponent + 1) for digit in _TICK_DIGITS]
    step = min(value for value in steps if value >= step_min * (1 - 1e-9))
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    count = math.floor(scale.ns(width_px - LAST_TICK_CLEAR_PX) / unit_ns / step + 1e-9)
    values = [index * step for index in range(count + 1)]
    return [
        TickLabel(
            round(value * unit_ns),
            "0" if index == 0 else f"{value:.{decimals}f}",
            f" {unit}" if index == count else "",
        )
        for index, value in enumerate(values)
    ]

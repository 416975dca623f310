"""The scale that a viewer sees: fitted to the drawn ticks, never taken from the ledger."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from scenes.ledger import Axis, Pause, Text
from spanreel.verify.faults import Fault
from spanreel.verify.picture import Picture, levels
from spanreel.verify.profile import find_pulse
from traces.wording import FORMATS, MINUS, THIN_SPACE

TICK_ERROR_PX = 1.0
"""How far a tick may stand from where the ledger says."""
RESIDUAL_PX = 0.5
"""How far a tick may stand from the fitted line."""
FACTOR_SHARE = 0.01
"""How far a lens may magnify otherwise than it says."""
_SEARCH_PX = 8
_NUMBER_BELOW_PX = 80
_NUMBER_BESIDE_PX = 90
_UNITS_NS = {"s": 1e9, "ms": 1e6, "µs": 1e3}
_NUMBER = re.compile(r"([\d.]+)\s*(s|ms|µs)?")


@dataclass(frozen=True, slots=True)
class Fit:
    """x = x0 + time × px per ns, in px of the page, as fitted to the ticks of a picture."""

    x0_px: float
    px_per_ns: float
    residual_px: float

    def x(self, time_ns: float) -> float:
        """Return where an instant must stand."""
        return self.x0_px + time_ns * self.px_per_ns


def fit_axes(pause: Pause, picture: Picture) -> tuple[dict[str, Fit], list[Fault]]:
    """Fit each axis of a pause to its ticks in the picture.

    Returns:
        The fits by axis id, without those that could not be made, and what was wrong.
    """
    fits: dict[str, Fit] = {}
    faults: list[Fault] = []
    for axis in pause.axes:
        found = [_find_tick(axis, x_px, picture) for x_px in (tick.x_px for tick in axis.ticks)]
        for tick, x_px in zip(axis.ticks, found, strict=True):
            if x_px is None or abs(x_px - tick.x_px) > TICK_ERROR_PX:
                seen = "no tick" if x_px is None else f"a tick at {x_px:.1f} px"
                faults.append(Fault("scale", seen, f"one at {tick.x_px:.1f} px", mark=f"axis {axis.id}"))
        pairs = [(tick.value_ns, x) for tick, x in zip(axis.ticks, found, strict=True) if x is not None]
        if len({value for value, _ in pairs}) < 2:
            faults.append(Fault("scale", f"{len(pairs)} ticks", "two or more", mark=f"axis {axis.id}"))
            continue
        fits[axis.id] = _fit(pairs)
        if fits[axis.id].residual_px > RESIDUAL_PX:
            seen = f"ticks {fits[axis.id].residual_px:.2f} px off a straight line"
            faults.append(Fault("scale", seen, f"{RESIDUAL_PX} px at most", mark=f"axis {axis.id}"))
    faults += [*_factor_faults(pause, fits), *_number_faults(pause)]
    return fits, faults


def tick_of(text: Text, axes: Sequence[Axis]) -> tuple[Axis, int] | None:
    """Return the axis and the value of the tick that a text numbers, if it stands below one."""
    x0, y0, x1, _ = text.box_px
    number = _NUMBER.fullmatch(_plain(text.text))
    if number is None:
        return None
    for axis in axes:
        if axis.kind != "main" or not axis.tick_y1_px <= y0 <= axis.tick_y1_px + _NUMBER_BELOW_PX or not axis.ticks:
            continue
        nearest = min(axis.ticks, key=lambda tick: abs(tick.x_px - (x0 + x1) / 2))
        if x0 - _NUMBER_BESIDE_PX / 2 <= nearest.x_px <= x1 + _NUMBER_BESIDE_PX / 2:
            return axis, nearest.value_ns
    return None


def _find_tick(axis: Axis, x_px: float, picture: Picture) -> float | None:
    profile = picture.strip(axis.tick_y0_px, axis.tick_y1_px)
    at = x_px * picture.scale
    ground = float(np.median(profile[max(0, int(at) - 24) : int(at) + 24]))
    reach = round(_SEARCH_PX * picture.scale)
    pulse = find_pulse(profile, at, (ground, ground), levels(axis.colour)[0], reach)
    return pulse.centre / picture.scale if pulse else None


def _fit(pairs: Sequence[tuple[int, float]]) -> Fit:
    values, places = (np.array(column, float) for column in zip(*pairs, strict=True))
    middle = values.mean()
    slope = float(((values - middle) * (places - places.mean())).sum() / ((values - middle) ** 2).sum())
    start = float(places.mean() - slope * middle)
    return Fit(start, slope, float(np.abs(places - start - slope * values).max()))


def _factor_faults(pause: Pause, fits: Mapping[str, Fit]) -> Iterator[Fault]:
    main = next((fits[axis.id] for axis in pause.axes if axis.kind == "main" and axis.id in fits), None)
    for axis in pause.axes:
        if axis.kind != "lens" or axis.id not in fits or main is None:
            continue
        factor = fits[axis.id].px_per_ns / main.px_per_ns
        if abs(factor / axis.factor - 1) > FACTOR_SHARE:
            yield Fault("scale", f"it magnifies ×{factor:.2f}", f"×{axis.factor:g} as stated", mark=f"lens {axis.id}")
        printed = FORMATS["factor"](axis.factor)
        if not any(printed in text.text for text in pause.texts):
            yield Fault("scale", "its factor is not printed", printed, mark=f"lens {axis.id}")


def _number_faults(pause: Pause) -> Iterator[Fault]:
    """Hold the numbers under the ticks to the ticks; the unit may hang behind the last one only."""
    for axis in pause.axes:
        numbered = [(text, tick[1]) for text in pause.texts if (tick := tick_of(text, [axis]))]
        unit = next((unit for text, _ in reversed(numbered) if (unit := _unit(text.text))), None)
        for text, value_ns in numbered:
            digits, own_unit = _NUMBER.fullmatch(_plain(text.text)).groups()  # type: ignore[union-attr]
            unit_ns = _UNITS_NS.get(own_unit or unit or "", 0.0)
            half_digit = 0.5 * 10.0 ** -len(digits.partition(".")[2])
            if abs(float(digits) * unit_ns - value_ns) > half_digit * unit_ns + 1:
                yield Fault("scale", f"{text.text!r} stands at the tick", f"{value_ns} ns", mark=f"axis {axis.id}")


def _unit(text: str) -> str | None:
    match = _NUMBER.fullmatch(_plain(text))
    return match.group(2) if match else None


def _plain(text: str) -> str:
    return text.replace(THIN_SPACE, "").replace(MINUS, "-").strip()

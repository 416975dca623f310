"""How numbers read on screen and in titles: one place, so that a picture and its check use the same words."""

from __future__ import annotations

from collections.abc import Callable

THIN_SPACE = "\u2009"
MINUS = "\u2212"


def total(duration_ns: float) -> str:
    """A total in seconds with two decimals, below 0.1 s in milliseconds: ``2.61 s``, ``93 ms``."""
    return f"{duration_ns / 1e9:.2f} s" if duration_ns >= 1e8 else stage(duration_ns)


def stage(duration_ns: float) -> str:
    """A stage's time: whole milliseconds, one decimal below 10 ms, microseconds below 1 ms; seconds from 10 s."""
    if duration_ns >= 1e10:
        return f"{duration_ns / 1e9:.1f} s"
    if round(duration_ns / 1e6, 1) >= 10:
        return f"{grouped(round(duration_ns / 1e6))} ms"
    if round(duration_ns / 1e3) >= 1000:
        return f"{duration_ns / 1e6:.1f} ms"
    return f"{round(duration_ns / 1e3)} µs"


def per_token(duration_ns: float) -> str:
    """A time per token: milliseconds with one decimal, microseconds below 1 ms."""
    return f"{duration_ns / 1e6:.1f} ms" if duration_ns >= 1e6 else f"{round(duration_ns / 1e3)} µs"


def clock(duration_ns: float) -> str:
    """The digits of the replay clock, seconds with two decimals and no unit."""
    return f"{duration_ns / 1e9:.2f}"


def count(value: float) -> str:
    """A whole number."""
    return grouped(round(value))


def factor(value: float) -> str:
    """A magnification: ``×40``."""
    return f"×{grouped(round(value))}" if value >= 10 or value == round(value) else f"×{value:.1f}"


def grouped(value: int) -> str:
    """An integer with a thin space between thousands and a true minus."""
    digits = f"{abs(value):,}".replace(",", THIN_SPACE) if abs(value) >= 10_000 else str(abs(value))
    return digits if value >= 0 else MINUS + digits


FORMATS: dict[str, Callable[[float], str]] = {
    "total": total,
    "stage": stage,
    "per_token": per_token,
    "clock": clock,
    "count": count,
    "factor": factor,
}
"""Formats by the name that a ledger carries."""

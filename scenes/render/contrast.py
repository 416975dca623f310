"""Contrast of two colours, as WCAG 2 defines it."""

from __future__ import annotations

from scenes.render.drawn import rgb


def contrast(first: str, second: str) -> float:
    """Return the contrast ratio of two ``#rrggbb`` colours, from 1 to 21."""
    darker, lighter = sorted((_luminance(first), _luminance(second)))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    red, green, blue = (
        share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in rgb(colour)
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue

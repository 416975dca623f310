"""The text styles of the film: Inter speaks, JetBrains Mono measures."""

from __future__ import annotations

from dataclasses import dataclass, replace

from scenes.render.metrics import TextStyle
from scenes.theme import Theme

TITLE_TRACKING_EM = -0.012
KEY_TRACKING_EM = -0.02
CAP_CENTRE_EM = 0.364
"""From the middle of the capitals down to the baseline."""


@dataclass(frozen=True)
class Lettering:
    """Styles by role, from the theme."""

    theme: Theme

    @property
    def title(self) -> TextStyle:
        """Of a slide's title."""
        return TextStyle("text", self.theme.size.title_px, 600, self.theme.colour.text, tracking_em=TITLE_TRACKING_EM)

    @property
    def name(self) -> TextStyle:
        """Of a stage's name in a label."""
        return TextStyle("text", self.theme.size.label_px, 600, self.theme.colour.text)

    @property
    def value(self) -> TextStyle:
        """Of the value or gloss beside a name."""
        return TextStyle("text", self.theme.size.label_px, 400, self.theme.colour.secondary)

    @property
    def point(self) -> TextStyle:
        """Of a value that is the point of the picture."""
        return TextStyle("text", self.theme.size.label_px, 600, self.theme.colour.text)

    @property
    def axis(self) -> TextStyle:
        """Of the numbers on an axis."""
        return TextStyle("text", self.theme.size.label_px, 400, self.theme.colour.secondary, tabular=True)

    @property
    def aside(self) -> TextStyle:
        """Of a remark that nobody must read."""
        return TextStyle("text", self.theme.size.small_px, 400, self.theme.colour.muted)

    @property
    def clock(self) -> TextStyle:
        """Of the digits of the great clock."""
        return TextStyle("mono", self.theme.size.clock_px, 500, self.theme.colour.text)

    @property
    def unit(self) -> TextStyle:
        """Of the unit beside the great clock."""
        return TextStyle("text", self.theme.size.clock_unit_px, 500, self.theme.colour.muted)

    @property
    def hash(self) -> TextStyle:
        """Of a trace's hash where it is the point."""
        return TextStyle("mono", self.theme.size.key_number_px, 500, self.theme.colour.text)

    @property
    def key(self) -> TextStyle:
        """Of the one number of a picture."""
        return TextStyle(
            "text", self.theme.size.key_number_px, 600, self.theme.colour.text, tracking_em=KEY_TRACKING_EM
        )

    def on_fill(self, style: TextStyle) -> TextStyle:
        """Return a style as it is written on a coloured bar."""
        return replace(style, colour=self.theme.colour.ink)


def centred(middle_y_px: float, size_px: float) -> float:
    """Return the baseline at which capitals stand centred on a height."""
    return middle_y_px + CAP_CENTRE_EM * size_px


def middle_of(baseline_y_px: float, size_px: float) -> float:
    """Return the height on which capitals on a baseline are centred."""
    return baseline_y_px - CAP_CENTRE_EM * size_px

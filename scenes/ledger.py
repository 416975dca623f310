"""The ledger: what a clip says that it drew, mark by mark, so that ``verify`` can hold the pixels to it.

Lengths are px of the 1920 × 1080 picture, y downwards, edges unrounded. Frames count from the segment's first frame.
"""

from __future__ import annotations

from typing import Literal

import msgspec

LEDGER_VERSION = 1


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of the ledger's records."""


class Source(Entry, frozen=True):
    """A request that the clip draws from."""

    key: str
    experiment: str
    arm: str
    run: int
    request: str
    sha256: str
    """Digest of the experiment file."""


class Tick(Entry, frozen=True):
    """One tick of an axis."""

    value_ns: int
    x_px: float


class Axis(Entry, frozen=True):
    """A linear time axis. A lens has one too: its ticks are its frame's left and right edges."""

    id: str
    kind: Literal["main", "lens"]
    x0_px: float
    x1_px: float
    y_px: float
    """Main: the axis line's centre. Lens: the middle of the frame's height."""
    tick_y0_px: float
    tick_y1_px: float
    """Between these the ticks can be seen with nothing else beside them."""
    ticks: list[Tick]
    colour: str
    factor: float = 1.0
    """How much the axis magnifies, as printed."""


class Mark(Entry, frozen=True):
    """A thing on screen whose position or width means time, or that parts two such things."""

    id: str
    """Unique in the clip; the same mark keeps it from pause to pause."""
    kind: Literal["bar", "hairline", "bracket", "marker", "separator"]
    binding: str
    """A binding name (see ``traces.bindings``)."""
    source: str
    axis: str
    start_ns: int
    duration_ns: int
    x0_px: float
    x1_px: float
    y0_px: float
    y1_px: float
    colour: str
    pattern: Literal["solid", "wait", "outline"] = "solid"
    readable: bool = True
    """False where both edges cannot be read from pixels: under 3 px wide, or covered by a later mark."""
    cut_left: bool = False
    cut_right: bool = False
    """The mark runs on beyond its lens, whose frame cuts it."""


class Value(Entry, frozen=True):
    """A number inside a text."""

    binding: str
    source: str
    format: str
    """A name in ``traces.wording.FORMATS``."""


class Text(Entry, frozen=True):
    """A text on screen. ``template`` with its values filled in must give ``text``."""

    id: str
    text: str
    template: str
    values: list[Value]
    claim: str
    """Slide id whose title this is, or empty."""
    box_px: tuple[float, float, float, float]
    """x0, y0, x1, y1 of the ink, measured from the bitmap's alpha."""
    size_px: float
    colour: str
    behind: str
    """Colour of what it stands on."""
    contrast: float
    bitmap: str
    """File name of its bitmap in the clip's folder."""


class Motion(Entry, frozen=True):
    """A mark whose right edge moves with time during a segment: at frame f it stands at the linear mix of both ends."""

    mark: str
    first_frame: float
    """When the edge stands at ``from_px``; a fraction where a span starts between two frames."""
    last_frame: float
    """When the edge stands at ``to_px``."""
    from_px: float
    to_px: float


class Pause(Entry, frozen=True):
    """The picture at a pause point."""

    name: str
    still: str
    still_sha256: str
    axes: list[Axis]
    marks: list[Mark]
    texts: list[Text]
    notes: str
    alt: str
    """What the still says, in words, filled from the trace."""


class Segment(Entry, frozen=True):
    """The film from the pause before to this one; its last frame is the pause's picture."""

    file: str
    sha256: str
    num_frames: int
    """Its length. A picture that stays is one long frame, so that fewer frames may be stored."""
    motions: list[Motion]
    caption: str


class Clip(Entry, frozen=True):
    """``clip.json``: a rendered clip. ``segments[i]`` ends in ``pauses[i]``."""

    ledger_version: int
    clip: str
    unit_hash: str
    width_px: int
    height_px: int
    fps: int
    sources: list[Source]
    pauses: list[Pause]
    segments: list[Segment]
    """Empty when only stills were drawn."""

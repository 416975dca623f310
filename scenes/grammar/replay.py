"""Replay: trace time on screen time, at one factor that is printed."""

from __future__ import annotations

import math
from dataclasses import dataclass

REAL_TIME_NS = (1_000_000_000, 8_000_000_000)
"""Requests that last this long are replayed in real time: the room waits as long as the user did."""
SCREEN_MAX_S = 10.0
_FACTORS = sorted(digit * 10**power for power in range(6) for digit in (1, 2, 5))


@dataclass(frozen=True, slots=True)
class Replay:
    """How fast a trace plays: ``trace_ns_per_frame`` of the trace go by in each frame, without easing."""

    trace_ns_per_frame: float
    words: str
    """The factor in words, for the picture."""

    def num_frames(self, duration_ns: float) -> int:
        """Return how many frames a duration takes; the last one shows the end itself."""
        return max(1, math.ceil(duration_ns / self.trace_ns_per_frame - 1e-9))


def choose_replay(duration_ns: int, fps: int) -> Replay:
    """Return real time from 1 s to 8 s, else the round factor that brings the replay to 4–10 s.

    Args:
        duration_ns: The longest thing that is replayed.
        fps: Frames a second of the film.
    """
    frame_ns = 1e9 / fps
    if REAL_TIME_NS[0] <= duration_ns <= REAL_TIME_NS[1]:
        return Replay(frame_ns, "real time, ×1")
    if duration_ns > REAL_TIME_NS[1]:
        faster = next(factor for factor in _FACTORS if duration_ns / 1e9 / factor <= SCREEN_MAX_S)
        return Replay(frame_ns * faster, f"×{faster} speed")
    slower = max(factor for factor in _FACTORS if duration_ns / 1e9 * factor <= SCREEN_MAX_S)
    return Replay(frame_ns / slower, f"1/{slower} speed")

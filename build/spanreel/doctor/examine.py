"""All examinations, in the order in which one thing needs the other."""

from __future__ import annotations

from spanreel import paths
from spanreel.doctor import content, software
from spanreel.doctor.finding import Finding


def examine() -> list[Finding]:
    """Look at everything that spanreel needs; nothing is changed, and no network is touched."""
    found_set, trace_set = content.recorded_set()
    return [
        software.python(),
        software.system_libraries(),
        software.deck_packages(),
        software.npm_packages(paths.ROOT),
        content.fonts(paths.NODE_MODULES),
        content.glyphs(paths.NODE_MODULES, trace_set),
        found_set,
        software.engine_packages(),
        software.model(),
        software.chromium(),
    ]

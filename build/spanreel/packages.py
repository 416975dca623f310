"""Which Python packages each half needs, from this distribution's own metadata. None is imported to find out.

``python -m spanreel.packages EXTRA,…`` fails when a package of these extras is missing; the set-up asks this way.
"""

from __future__ import annotations

import re
import sys
from importlib import metadata
from typing import Literal

from spanreel.errors import EnvironmentLackError

Half = Literal["render", "engine"]

INSTALL: dict[Half, str] = {"render": "make deck", "engine": "make setup-engine"}
"""The command that installs what a half needs."""

_REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)[^;]*(;(?P<marker>.*))?")


def version(name: str) -> str | None:
    """Return the installed version of a package, None where it is missing."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def versions(extra: str) -> dict[str, str | None]:
    """Return the installed version of each package of an extra and of the base, None for one that is missing."""
    return {name: version(name) for name in _required(extra)}


def missing(extra: str) -> list[str]:
    """Return the packages of an extra and of the base that are not installed."""
    return [name for name, found in versions(extra).items() if found is None]


def require(half: Half) -> None:
    """Check that a half's packages are installed.

    Raises:
        EnvironmentLackError: Some are not; the message names them and the command that installs them.
    """
    lacking = missing(half)
    if lacking:
        raise EnvironmentLackError(
            f"Python packages not installed: {', '.join(lacking)}. Install them with: {INSTALL[half]}"
        )


def _required(extra: str) -> list[str]:
    """Return the names behind the base requirements and one extra, for this system."""
    names = []
    for requirement in metadata.requires("spanreel") or []:
        parsed = _REQUIREMENT.match(requirement)
        if parsed is None:
            continue
        marker = (parsed["marker"] or "").replace('"', "'")
        wanted = "extra" not in marker or f"extra == '{extra}'" in marker
        if wanted and ("sys_platform" not in marker or sys.platform == "linux"):
            names.append(parsed["name"])
    return names


if __name__ == "__main__":
    sys.exit(any(missing(extra) for extra in sys.argv[1].split(",")))

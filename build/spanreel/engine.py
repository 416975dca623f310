"""Hand over to the engine's own command line. This package never imports the engine: it only starts it."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from spanreel import packages


def become_engine(verb: str, options: dict[str, str | int | bool | None], more: Sequence[str] = ()) -> NoReturn:
    """Replace this process by ``python -m demo_engine VERB``, so that signals and the exit code are the engine's own.

    Args:
        verb: A verb of the engine's command line.
        options: Long option names and values; None and False are left out, True stands for a flag.
        more: Arguments that the engine's own command line understands.

    Raises:
        EnvironmentLackError: The engine's packages are not installed.
    """
    packages.require("engine")
    command = [sys.executable, "-m", "demo_engine", verb]
    for name, value in options.items():
        if value is True:
            command.append(f"--{name}")
        elif value is not None and value is not False:
            command.append(f"--{name}={value}")
    command += more
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, command)  # noqa: S606 (an argument list, no shell)

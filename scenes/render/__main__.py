"""``python -m scenes.render JOB.json [--progress]``: draw one clip. Exit codes: 0, 1 failed, 2 input, 4 environment."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from scenes.render.errors import RenderError
from scenes.render.run import read_job, render

_USAGE = "usage: python -m scenes.render JOB.json [--progress]"


def main(arguments: list[str]) -> int:
    """Run one job and return the exit code; a failure is one line on standard error."""
    files = [argument for argument in arguments if argument != "--progress"]
    if len(files) != 1:
        sys.stderr.write(f"{_USAGE}\n")
        return 2
    try:
        job = read_job(Path(files[0]))
        render(job, _printer(job.clip) if "--progress" in arguments else None)
    except RenderError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    except Exception as error:
        sys.stderr.write(f"clip {job.clip}: {type(error).__name__}: {error}\n")
        return 1
    return 0


def _printer(clip: str) -> Callable[[int], None]:
    def say(count: int) -> None:
        sys.stdout.write(f"{clip} segment {count}\n")
        sys.stdout.flush()

    return say


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

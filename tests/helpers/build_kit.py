"""Small, quick builds for tests: real plans, caches, films and manifests of sketched clips."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from spanreel.build import Built, Order, build
from spanreel.report import Report
from trace_factory import MS, make_experiment, make_run, make_set

HELPERS = Path(__file__).parent
ROOT = HELPERS.parents[1]
QUICK_RENDERER = (sys.executable, str(HELPERS / "sketch_renderer.py"))

_PREAMBLE = """
import sys
sys.path[:0] = [{helpers!r}, {root!r}, {build!r}]
"""


def quick_set(folder: Path, *, prefill_ns: int = 300 * MS, text: str = "tok", name: str = "synthetic") -> Path:
    """Make a set of one short request, so that its clips are short."""
    run = make_run(tokens=3, prefill_ns=prefill_ns, decode_ns=60 * MS, queue_ns=40 * MS, text=text)
    return make_set(folder, make_experiment(run), name=name)


def quick_order(folder: Path, set_dir: Path, **changes) -> Order:
    """Return an order for a small film without a page, drawn by the sketch renderer; ``folder`` gets deck and cache."""
    settings = {
        "formats": ("mp4",),
        "quality": "draft",
        "out_dir": folder / "deck",
        "num_jobs": 2,
        "cache_dir": folder / "cache",
        "renderer": QUICK_RENDERER,
    }
    return Order(set_dir, **(settings | changes))


def quick_build(folder: Path, set_dir: Path, **changes) -> Built:
    """Build such an order."""
    with Report() as report:
        return build(quick_order(folder, set_dir, **changes), report)


def pausing_renderer(mark: Path) -> tuple[str, ...]:
    """Return a renderer that writes its process id to ``mark`` and then waits long enough to be killed."""
    program = f"import os, time; open({str(mark)!r}, 'a').write(f'{{os.getpid()}}\\n'); time.sleep(60)"
    return (sys.executable, "-c", program)


def start_build(program: str, *arguments: object) -> subprocess.Popen[str]:
    """Start a Python program that can import what tests can, in a process group of its own."""
    preamble = _PREAMBLE.format(helpers=str(HELPERS), root=str(ROOT), build=str(ROOT / "build"))
    return subprocess.Popen(
        [sys.executable, "-c", preamble + program, *map(str, arguments)],
        cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip


def contents(folder: Path) -> dict[str, bytes]:
    """Return every file of a deck by name, without what belongs to the building of it."""
    files = (file for file in folder.rglob("*") if file.is_file())
    names = {file.relative_to(folder).as_posix(): file for file in files}
    return {name: file.read_bytes() for name, file in names.items() if not name.startswith((".build", ".staging"))}

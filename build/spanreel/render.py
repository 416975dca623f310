"""Drawing units: one process a clip, several at a time, each into a staging folder."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from pathlib import Path
from threading import Lock
from typing import IO

import msgspec

from spanreel import paths
from spanreel.errors import EnvironmentLackError, InputError, SpanreelError
from spanreel.plan import Unit
from spanreel.report import Report
from spanreel.units import UnitCache, UnitError

RENDERER = (sys.executable, "-m", "scenes.render", "--progress")


class Renderer:
    """Draws units into a cache.

    Args:
        cache: Where they go.
        report: Told what happens.
        command: The program that draws; it gets the job's file.
    """

    def __init__(self, cache: UnitCache, report: Report, command: Sequence[str] = RENDERER) -> None:
        self._cache = cache
        self._report = report
        self._command = command
        self._children: set[subprocess.Popen[bytes]] = set()
        self._lock = Lock()
        self._ending = False

    def folders(self, units: list[Unit], num_jobs: int) -> dict[str, Path]:
        """Return each clip's folder; what is not in the cache, or is no longer whole there, is drawn.

        Raises:
            SpanreelError: A clip cannot be drawn; the exit code is that of the process that tried.
        """
        missing = [unit for unit in units if not self._is_cached(unit)]
        if missing:
            self._report.begin(len(missing))
            self._prepare_fonts()
            self._draw_all(missing, num_jobs)
        return {unit.clip: self._cache.unit_dir(unit.hash) for unit in units}

    def _is_cached(self, unit: Unit) -> bool:
        if not self._cache.has(unit.hash):
            return False
        try:
            self._cache.check(unit.hash)
        except UnitError as fault:
            self._report.say(f"clip {unit.clip}: the cached unit is damaged ({fault}); drawing it again")
            return False
        return True

    def _prepare_fonts(self) -> None:
        try:
            from scenes.render.errors import RenderError
            from scenes.render.fonts import prepare_fonts
        except ImportError as error:
            raise EnvironmentLackError(f"{error}; install what rendering needs with: make deck") from error
        try:
            prepare_fonts(paths.NODE_MODULES, self._cache.fonts_dir)
        except RenderError as error:
            raise _failure(str(error), error.exit_code) from error

    def _draw_all(self, units: list[Unit], num_jobs: int) -> None:
        with ThreadPoolExecutor(max_workers=num_jobs) as pool:
            drawing: list[Future[None]] = [pool.submit(self._draw, unit) for unit in units]
            try:
                done, _ = wait(drawing, return_when=FIRST_EXCEPTION)
                for future in done:
                    future.result()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                self._end_children()
                raise

    def _draw(self, unit: Unit) -> None:
        workspace = self._cache.stage(unit.hash)
        try:
            drawn, job_file = workspace / "unit", workspace / "job.json"
            drawn.mkdir()
            job_file.write_bytes(msgspec.json.encode(unit.job(self._cache.fonts_dir, self._cache.labels_dir, drawn)))
            self._run(unit, job_file, workspace / "log")
            self._cache.publish(drawn, unit.hash)
        except UnitError as fault:
            raise SpanreelError(f"clip {unit.clip} was drawn badly: {fault}; build again") from fault
        finally:
            shutil.rmtree(workspace, ignore_errors=True)
        self._report.drawn(unit.clip)

    def _run(self, unit: Unit, job_file: Path, log_file: Path) -> None:
        with log_file.open("wb") as log, self._start([*self._command, str(job_file)], log) as child:
            for _ in child.stdout or ():
                self._report.segment(unit.clip)
        with self._lock:
            self._children.discard(child)
        if child.returncode:
            said = log_file.read_text(encoding="utf-8", errors="replace").strip().splitlines()
            reason = "\n".join(said[-2:]) or f"its process ended with code {child.returncode}"
            raise _failure(f"clip {unit.clip} was not drawn: {reason}", child.returncode)

    def _start(self, command: list[str], log: IO[bytes]) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._ending:
                raise SpanreelError("the build is ending")
            child = subprocess.Popen(
                command, cwd=paths.ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log
            )
            self._children.add(child)
        return child

    def _end_children(self) -> None:
        with self._lock:
            self._ending = True
            for child in self._children:
                child.kill()


def _failure(message: str, exit_code: int) -> SpanreelError:
    return {2: InputError, 4: EnvironmentLackError}.get(exit_code, SpanreelError)(message)

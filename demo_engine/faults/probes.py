"""Health probes in a thread of their own, so that what the faults do to this process does not delay them much."""

from __future__ import annotations

import http.client
import threading
import time
from types import TracebackType

INTERVAL_S = 0.05
_TIMEOUT_S = 5.0


class Probes:
    """Asks ``/healthz`` again and again while the block runs, or until stopped."""

    def __init__(self, host: str) -> None:
        self.num_failed = 0
        self.times_ms: list[float] = []
        self._host = host
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Probes:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.stop()

    def stop(self) -> None:
        """Ask no more."""
        self._is_over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._is_over.wait(INTERVAL_S):
            start_s = time.perf_counter()
            connection = http.client.HTTPConnection(self._host, timeout=_TIMEOUT_S)
            try:
                connection.request("GET", "/healthz")
                self.num_failed += connection.getresponse().status != 200
            except (OSError, http.client.HTTPException):
                self.num_failed += 1
            finally:
                connection.close()
            self.times_ms.append((time.perf_counter() - start_s) * 1000)

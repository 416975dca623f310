"""Every metric in one place, each with its formula and its clock.

All of them are of one request, on the client's clock, from the intended start (so that a client which sends late
cannot hide the delay: no coordinated omission).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from traces.errors import TraceError
from traces.schema import COMPONENTS, Component, Request
from traces.spans import Span

SAMPLES_NEEDED = {50: 7, 90: 44, 95: 90, 99: 459}
"""n for which the p-th percentile's exceedance has 99 % confidence (MLPerf's early stopping with no sample over)."""


def ttft_ns(request: Request) -> int:
    """Time to first token: first token received − intended start; client clock.

    Raises:
        TraceError: The request produced no token.
    """
    _need_tokens(request, 1)
    return request.tokens.recv_gap_ns[0]


def e2e_ns(path: Sequence[Span]) -> int:
    """End-to-end latency: last byte received − intended start, the sum of the path; client clock."""
    return path[-1].end_ns if path else 0


def tpot_ns(request: Request, path: Sequence[Span]) -> float:
    """Time per output token: (E2E − TTFT) / (N − 1), so that TTFT + (N − 1) · TPOT = E2E; client clock.

    Raises:
        TraceError: Fewer than two tokens.
    """
    _need_tokens(request, 2)
    return (e2e_ns(path) - ttft_ns(request)) / (request.num_output_tokens - 1)


def stage_sums_ns(path: Iterable[Span]) -> dict[Component, int]:
    """Time of the path in each component, in lane order; components without a span are 0."""
    sums: dict[Component, int] = dict.fromkeys(COMPONENTS, 0)
    for span in path:
        sums[span.component] += span.duration_ns
    return sums


def name_sums_ns(path: Iterable[Span]) -> dict[str, int]:
    """Time of the path by span name, in order of first appearance."""
    sums: dict[str, int] = {}
    for span in path:
        sums[span.name] = sums.get(span.name, 0) + span.duration_ns
    return sums


def receive_times_ns(request: Request) -> list[int]:
    """When the client received each token, from the intended start."""
    times, now = [], 0
    for gap in request.tokens.recv_gap_ns:
        now += gap
        times.append(now)
    return times


def percentile(values: Sequence[int], percent: int) -> int:
    """Nearest-rank percentile.

    Raises:
        TraceError: Too few values for this percentile, or a percentile without a known n.
    """
    needed = SAMPLES_NEEDED.get(percent)
    if needed is None or len(values) < needed:
        raise TraceError(
            f"n = {len(values)} is too small for p{percent}, which needs {needed or 'a listed percentile'}"
        )
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]


def _need_tokens(request: Request, count: int) -> None:
    if request.num_output_tokens < count:
        raise TraceError(f"request {request.id} has {request.num_output_tokens} tokens, {count} needed")

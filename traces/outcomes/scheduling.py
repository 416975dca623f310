"""What the scheduler gives and costs: seats refilled (E7), prompts in chunks (E8), a line that grows with load (E9)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from traces.arms import answered, arm_of, measured_runs
from traces.metrics import receive_times_ns, ttft_ns
from traces.outcomes.claim import Claim, Metric, event_values
from traces.outcomes.of_requests import E2E, FAILED, MAKESPAN, QUEUE, TPOT, TTFT, request_e2e_ns
from traces.schema import Experiment, Request, Run
from traces.spans import step_end_ns, step_ns
from traces.statistics import median


def finished_later(experiment: Experiment, first: str, second: str) -> tuple[int, int]:
    """Return how many requests ended later in the second arm than in the first, and how many there are.

    Requests of a round are the same in both arms; a request counts once a round.

    Raises:
        TraceError: An arm is missing.
    """
    num_later = num_all = 0
    runs = (measured_runs(arm_of(experiment, arm)) for arm in (first, second))
    for one, other in zip(*runs, strict=False):
        ends = {request.id: request_e2e_ns(experiment, one, request) for request in answered(one)}
        for request in answered(other):
            if request.id in ends:
                num_later += request_e2e_ns(experiment, other, request) > ends[request.id]
                num_all += 1
    return num_later, num_all


def load_growth(experiment: Experiment, first: str, second: str) -> tuple[float, float]:
    """Return how many times TTFT and time per token are as long in the second arm as in the first: of medians.

    Raises:
        TraceError: An arm is missing, or has no answered request.
    """
    ttft, tpot = (
        [median(event_values(metric, experiment, arm_of(experiment, arm))) for arm in (first, second)]
        for metric in (TTFT, TPOT)
    )
    return ttft[1] / ttft[0], tpot[1] / tpot[0]


def busy_share(run: Run) -> float:
    """Return which part of the time the engine computed, from the first step to the end of the last."""
    steps = run.steps
    if not steps.start_ns:
        return 0.0
    last = len(steps.start_ns) - 1
    worked_ns = sum(step_ns(steps, index) for index in range(last + 1))
    return worked_ns / (step_end_ns(steps, last) - steps.start_ns[0])


def gaps_meanwhile_ns(run: Run, subject: Request) -> list[int]:
    """Return the gaps between tokens of all neighbours that overlap the time until the subject's first token."""
    start_ns = subject.intended_start_ns
    until_ns = start_ns + ttft_ns(subject)
    return [end - begin for begin, end in _neighbour_gaps(run) if end > start_ns and begin < until_ns]


def _neighbour_gaps(run: Run) -> Iterator[tuple[int, int]]:
    """Yield, for each token of a neighbour but its first, when the one before and when it was received."""
    for request in answered(run, "neighbour"):
        times = [request.intended_start_ns + at for at in receive_times_ns(request)]
        yield from pairwise(times)


def _num_seats(experiment: Experiment) -> int:
    return int(experiment.arms[0].settings["engine"]["max_num_seqs"])


def _empty_seats_ns(experiment: Experiment, run: Run) -> int:
    """Return seat-time in which a seat was empty while the work went on, from the first step to the last one's end."""
    steps, num_seats = run.steps, _num_seats(experiment)
    return sum((num_seats - running) * step_ns(steps, index) for index, running in enumerate(steps.running))


def _mean_waiting(run: Run) -> float:
    """Return the time-average of the line, from the first step to the end of the last; the engine's pauses count 0."""
    steps = run.steps
    area = sum(waiting * step_ns(steps, index) for index, waiting in enumerate(steps.waiting))
    return area / (step_end_ns(steps, len(steps.start_ns) - 1) - steps.start_ns[0])


def _rate_meanwhile(run: Run, subject: Request) -> float:
    """Return the neighbours' tokens a second from the subject's intended start to its first token."""
    start_ns, duration_ns = subject.intended_start_ns, ttft_ns(subject)
    num_tokens = sum(start_ns < end <= start_ns + duration_ns for _, end in _neighbour_gaps(run))
    return num_tokens / duration_ns * 1e9


def _refused(run: Run) -> int:
    return sum(request.finish_reason == "error" for request in run.requests)


EMPTY_SEATS = Metric(
    "empty_seats", "ns",
    "sum over steps of (seats − running) × duration: seat-seconds; server clock; one event is one run",
    lambda experiment, run: [_empty_seats_ns(experiment, run)],
)  # fmt: skip
WORST_GAP = Metric(
    "worst_gap", "ns",
    "longest time between two tokens of any neighbour until the subject's first token; client clock; one event is "
    "one arrival of a long prompt",
    lambda _, run: [max(gaps) for subject in answered(run) if (gaps := gaps_meanwhile_ns(run, subject))],
)  # fmt: skip
NEIGHBOUR_RATE = Metric(
    "neighbour_rate", "tokens/s",
    "tokens of all neighbours received until the subject's first token / that time; client clock; one event is one "
    "arrival of a long prompt",
    lambda _, run: [_rate_meanwhile(run, subject) for subject in answered(run)],
)  # fmt: skip
WAITING = Metric(
    "waiting", "requests",
    "requests in line, averaged over the time from the first step to the last one's end; server clock; one event is "
    "one run",
    lambda _, run: [_mean_waiting(run)] if run.steps.start_ns else [],
)  # fmt: skip
BUSY = Metric(
    "busy", "share",
    "time in steps / time from the first step to the last one's end; server clock; one event is one run",
    lambda _, run: [busy_share(run)],
)  # fmt: skip
REFUSED = Metric(
    "refused", "requests", "requests that were told to come back; one event is one run", lambda _, run: [_refused(run)]
)

CLAIMS: dict[str, list[Claim]] = {
    "e07": [
        Claim(MAKESPAN, "A", "B", "less", "gain"),
        Claim(QUEUE, "A", "B", "less", "gain"),
        Claim(EMPTY_SEATS, "A", "B", "less", "gain"),
        Claim(E2E, "A", "B", "less", "gain"),
        Claim(TPOT, "A", "B", "more", "cost"),
    ],
    "e08": [
        Claim(WORST_GAP, "A", "B", "less", "gain"),
        Claim(NEIGHBOUR_RATE, "A", "B", "more", "gain"),
        Claim(TTFT, "A", "B", "more", "cost"),
    ],
    "e09": [
        Claim(TTFT, "load35", "load75", "more", "effect"),
        Claim(TPOT, "load35", "load75", "more", "effect"),
        Claim(QUEUE, "load35", "load75", "more", "effect"),
        Claim(BUSY, "load35", "load75", "more", "effect"),
        Claim(WAITING, "load35", "load75", "more", "effect"),
        Claim(TTFT, "load75", "load75-cap", "less", "gain"),
        Claim(REFUSED, "load75", "load75-cap", "more", "cost"),
        Claim(FAILED, "load35", "load75", "same", "effect"),
    ],
}

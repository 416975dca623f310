"""How time follows a quantity: the prompt's length (E13), the batch's size (E14), the context's length (E16).

A sweep's arms are points of a curve. The functions of this module say where it is flat, how steep it is, and how far
it lies from what the machine's speeds allow.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import linear_regression

from traces.arms import answered
from traces.errors import TraceError
from traces.outcomes.caching import CACHED_TOKENS
from traces.outcomes.claim import Claim, Metric, event_values
from traces.outcomes.of_requests import MAKESPAN, TTFT
from traces.schema import Experiment, Run
from traces.spans import step_ns
from traces.statistics import median

FLAT_TOLERANCE = 0.10
"""A point this much above the first one still counts as level with it."""
FLOOR_FACTOR = 2
"""From so many floors on, a prompt's time is its tokens and no longer the floor."""
STRAIGHT_SHARE = 0.25
"""Up to this share of the longest prompt, attention is too little to bend the line."""

Points = Mapping[int, float]
"""What was measured for each size: a median, by the size."""


@dataclass(frozen=True)
class PrefillFit:
    """A prompt's time as a floor, and a price for each token once the floor is left."""

    floor_ns: float
    """Time of the shortest prompt."""
    flat_until: int
    """Longest prompt that takes as long as the shortest, within ``FLAT_TOLERANCE``."""
    token_ns: float
    """Slope of the straight part."""
    attention_share: float
    """Share of the longest prompt's time that lies above the straight part, drawn on; 0 if it lies below."""


def points(experiment: Experiment, metric: Metric, setting: str) -> dict[int, float]:
    """Return the metric's median for each value of a setting, in its order; arms without the setting are no point."""
    arms = {arm.settings[setting]: arm for arm in experiment.arms if setting in arm.settings}
    values = {size: event_values(metric, experiment, arm) for size, arm in sorted(arms.items())}
    return {size: median(found) for size, found in values.items() if found}


def flat_until(curve: Points) -> int:
    """Return the last size before the curve first leaves the level of its first point.

    Raises:
        TraceError: The curve has no point.
    """
    sizes = sorted(curve)
    if not sizes:
        raise TraceError("a curve without a point is nowhere flat")
    last = sizes[0]
    for size in sizes[1:]:
        if curve[size] > curve[sizes[0]] * (1 + FLAT_TOLERANCE):
            break
        last = size
    return last


def fit_prefill(curve: Points) -> PrefillFit:
    """Fit floor, slope and bend to the times of prompts by their lengths.

    The straight part is every length that takes ``FLOOR_FACTOR`` floors or more and is at most ``STRAIGHT_SHARE`` of
    the longest; where fewer than two are, the two longest lengths that are not the longest itself.

    Raises:
        TraceError: There are fewer than four lengths.
    """
    lengths = sorted(curve)
    if len(lengths) < 4:
        raise TraceError(f"{len(lengths)} prompt lengths, 4 needed for a floor, a slope and a bend")
    floor, longest = curve[lengths[0]], lengths[-1]
    straight = [n for n in lengths if curve[n] >= FLOOR_FACTOR * floor and n <= STRAIGHT_SHARE * longest]
    if len(straight) < 2:
        straight = lengths[-3:-1]
    token_ns, base_ns = slope_and_base({n: curve[n] for n in straight})
    above = curve[longest] - (base_ns + token_ns * longest)
    return PrefillFit(floor, flat_until(curve), token_ns, max(0.0, above / curve[longest]))


def slope_and_base(curve: Points) -> tuple[float, float]:
    """Return what one more of the size adds, and where the line meets size 0: least squares.

    Raises:
        TraceError: There are fewer than two points.
    """
    if len(curve) < 2:
        raise TraceError("a slope needs two points")
    slope, base = linear_regression(list(curve.keys()), list(curve.values()))
    return slope, base


def predicted_context_slope_ns(experiment: Experiment) -> float:
    """Return what one more token of context should add: the bytes of its keys and values at the calibrated speed."""
    inputs = experiment.prediction.inputs
    return inputs["kv_bytes_per_token"] / inputs["read_bytes_per_s"] * 1e9


def floor_ns(experiment: Experiment) -> float:
    """Return the least time of a step that reads all weights once, at the calibrated speed."""
    inputs = experiment.prediction.inputs
    return inputs["weight_bytes"] / inputs["read_bytes_per_s"] * 1e9


def predicted_knee(experiment: Experiment) -> float:
    """Return how many tokens in a step make its arithmetic as slow as reading the weights, at the calibrated speeds."""
    inputs = experiment.prediction.inputs
    return floor_ns(experiment) / (inputs["flops_per_token"] / inputs["gemm_flops_per_s"] * 1e9)


def best_exchange(steps_ns: Points) -> int:
    """Return the batch size whose step, against the size before it, brings most tokens per second for its time.

    Args:
        steps_ns: Time of a decode step by batch size.

    Raises:
        TraceError: There are fewer than two sizes.
    """
    sizes = sorted(steps_ns)
    if len(sizes) < 2:
        raise TraceError("an exchange needs two batch sizes")

    def gain_per_ns(index: int) -> float:
        before, after = sizes[index - 1], sizes[index]
        more_per_ns = after / steps_ns[after] - before / steps_ns[before]
        return more_per_ns / max(1.0, steps_ns[after] - steps_ns[before])

    return sizes[max(range(1, len(sizes)), key=gain_per_ns)]


def intensity(run: Run) -> float:
    """Return the run's floating-point operations for each byte that its prefill steps must read."""
    steps = _prefills(run)
    moved = sum(run.steps.weight_bytes[i] + run.steps.kv_bytes[i] for i in steps)
    return sum(run.steps.flops[i] for i in steps) / moved


def flops_per_s(run: Run) -> float:
    """Return what the run's prefill steps computed, from shapes, over the time of their forward passes."""
    steps = _prefills(run)
    return sum(run.steps.flops[i] for i in steps) / sum(run.steps.forward_ns[i] for i in steps) * 1e9


def bytes_per_s(run: Run) -> float:
    """Return what the run's full decode steps must have read over the time of their forward passes: the median."""
    columns = run.steps
    rates = [(columns.weight_bytes[i] + columns.kv_bytes[i]) / columns.forward_ns[i] for i in _full_decodes(run)]
    return median(rates) * 1e9


def full_decode_step_ns(run: Run) -> list[int]:
    """Return how long each step took in which all subjects got a token and nobody was prefilled."""
    return [step_ns(run.steps, index) for index in _full_decodes(run)]


def _prefills(run: Run) -> list[int]:
    return [i for i, tokens in enumerate(run.steps.prefill_tokens) if tokens]


def _full_decodes(run: Run) -> list[int]:
    subjects = sorted(request.id for request in run.requests if request.role == "subject")
    return [
        i
        for i, ids in enumerate(run.steps.request_ids)
        if sorted(ids) == subjects and run.steps.decode_tokens[i] == len(subjects) and not run.steps.prefill_tokens[i]
    ]


def _prefill_ns(run: Run) -> Iterator[int]:
    if len(answered(run)) == len(run.requests):
        yield sum(run.steps.forward_ns[i] for i in _prefills(run))


def _prefill_tokens(run: Run) -> int:
    return sum(run.steps.prefill_tokens)


def _decode_step_ns(run: Run) -> Iterator[float]:
    found = full_decode_step_ns(run)
    if found:
        yield median(found)


PREFILL = Metric(
    "prefill", "ns", "forward passes that computed prompt tokens, all of a run; server clock; one event is one run",
    lambda _, run: list(_prefill_ns(run)),
)  # fmt: skip
PREFILL_TOKEN = Metric(
    "prefill_token", "ns", "prefill / prompt tokens computed; server clock; one event is one run",
    lambda _, run: [total / _prefill_tokens(run) for total in _prefill_ns(run)],
)  # fmt: skip
PEAK_SHARE = Metric(
    "peak_share", "share",
    "floating-point operations of the prefill, from shapes / its forward passes / the calibrated speed; server clock; "
    "one event is one run",
    lambda experiment, run: [flops_per_s(run) / experiment.prediction.inputs["gemm_flops_per_s"]],
)  # fmt: skip
DECODE_STEP = Metric(
    "decode_step", "ns",
    "step in which every subject gets a token and nobody is prefilled, the median of a run; server clock; one event is "
    "one run",
    lambda _, run: list(_decode_step_ns(run)),
)  # fmt: skip
DECODE_RATE = Metric(
    "decode_rate", "tokens/s", "subjects / decode_step; server clock; one event is one run",
    lambda _, run: [len(run.requests) / step_ns * 1e9 for step_ns in _decode_step_ns(run)],
)  # fmt: skip

CLAIMS: dict[str, list[Claim]] = {
    "e13": [
        Claim(PREFILL_TOKEN, "n1", "n8", "less", "gain"),
        Claim(PEAK_SHARE, "n1", "n256", "more", "gain"),
        Claim(PREFILL, "n64", "n256", "more", "cost"),
        Claim(TTFT, "n64", "n256", "more", "cost"),
        Claim(PREFILL_TOKEN, "n256", "n2048", "more", "cost"),
        Claim(PREFILL, "n2048", "parts", "less", "gain"),
        Claim(MAKESPAN, "n2048", "parts", "less", "gain"),
    ],
    "e14": [
        Claim(DECODE_RATE, "b1", "b8", "more", "gain"),
        Claim(DECODE_RATE, "b8", "b16", "more", "gain"),
        Claim(DECODE_RATE, "b16", "b32", "more", "gain"),
        Claim(DECODE_STEP, "b1", "b8", "more", "cost"),
        Claim(DECODE_STEP, "b8", "b16", "more", "cost"),
        Claim(DECODE_STEP, "b1", "b32", "more", "cost"),
    ],
    "e16": [
        Claim(DECODE_STEP, "c256", "c1024", "more", "cost"),
        Claim(DECODE_STEP, "c256", "c4096", "more", "cost"),
        Claim(CACHED_TOKENS, "c256", "c1024", "more", "effect"),
    ],
}

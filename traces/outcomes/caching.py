"""What the KV cache gives and costs: keys and values kept (E10), prefixes found again (E4, E11), a full pool (E12)."""

from __future__ import annotations

from collections.abc import Iterator

from traces.arms import answered, arm_of
from traces.errors import TraceError
from traces.metrics import ttft_ns
from traces.outcomes.claim import Claim, Metric, event_values
from traces.outcomes.of_requests import E2E, FAILED, MAKESPAN, TPOT, TTFT
from traces.schema import Experiment, Request, Run
from traces.spans import step_ns
from traces.statistics import median


def token_step_ns(run: Run, request: Request, number: int) -> int:
    """Return how long the step took that made a token, planning and bookkeeping included; token 1 is the first."""
    return step_ns(run.steps, request.tokens.step[number - 1])


def token_work(run: Run, request: Request, number: int) -> int:
    """Return how many tokens the step computed that made a token, of all requests in it; token 1 is the first."""
    index = request.tokens.step[number - 1]
    return run.steps.prefill_tokens[index] + run.steps.decode_tokens[index]


def last_over_second(experiment: Experiment, arm_id: str) -> tuple[int, float]:
    """Return the number of the last token, and how many times token 2's step its own took: the median of requests.

    Raises:
        TraceError: There is no such arm, or no request of it has two tokens.
    """
    arm = arm_of(experiment, arm_id)
    growths = event_values(TOKEN_GROWTH, experiment, arm)
    if not growths:
        raise TraceError(f"{experiment.id}: arm {arm_id} has no request of two tokens")
    number = min(request.num_output_tokens for run in arm.runs for request in _with_two_tokens(run))
    return number, 1 + median(growths)


def block_size(experiment: Experiment) -> int:
    """Return how many tokens a block holds."""
    return int(experiment.arms[0].settings["engine"]["block_size"])


def token_bytes(experiment: Experiment) -> int:
    """Return how many bytes of keys and values a token has."""
    return int(experiment.prediction.inputs["kv_bytes_per_token"])


def block_bytes(experiment: Experiment) -> int:
    """Return how many bytes of keys and values a block holds."""
    return block_size(experiment) * token_bytes(experiment)


def chats_that_fit(num_blocks: int, context_tokens: int, block_size: int) -> tuple[int, int]:
    """Return how many chats of a length a pool holds at once, and how many blocks are left over."""
    return divmod(num_blocks, -(-context_tokens // block_size))


def preempted_ids(run: Run) -> list[str]:
    """Return the requests that lost their blocks, one entry each time, in the order in which it happened."""
    return [request_id for step in run.steps.preempted_ids for request_id in step]


def _growth(run: Run, request: Request) -> float:
    return token_step_ns(run, request, request.num_output_tokens) / token_step_ns(run, request, 2) - 1


def _ready_tokens(run: Run, request: Request) -> int:
    num_known = request.num_prompt_tokens + request.num_output_tokens - 1
    return num_known - token_work(run, request, request.num_output_tokens)


def _with_two_tokens(run: Run) -> list[Request]:
    return [request for request in answered(run) if request.num_output_tokens >= 2]


def _new_full_blocks(experiment: Experiment, run: Run) -> Iterator[int]:
    """Yield how many blocks each request filled that it had not found; its last token is never stored."""
    size = block_size(experiment)
    for request in [*answered(run, "neighbour"), *answered(run)]:
        num_stored = request.num_prompt_tokens + request.num_output_tokens - 1
        yield num_stored // size - request.num_cached_tokens // size


def _keeps_prefixes(experiment: Experiment, run: Run) -> bool:
    arm = next(arm for arm in experiment.arms if any(one is run for one in arm.runs))
    return bool(arm.settings["engine"]["enable_prefix_caching"])


def _kept_bytes(experiment: Experiment, run: Run) -> list[float]:
    if not _keeps_prefixes(experiment, run):
        return [0]
    return [sum(_new_full_blocks(experiment, run)) * block_bytes(experiment)]


def _recomputed_tokens(run: Run) -> int:
    needed = sum(request.num_prompt_tokens - request.num_cached_tokens for request in run.requests)
    return sum(run.steps.prefill_tokens) - needed


FILL_TTFT = Metric(
    "fill_ttft", "ns", "TTFT of the request that nobody went before; client clock; one event is one request",
    lambda _, run: [ttft_ns(request) for request in answered(run, "neighbour")],
)  # fmt: skip
CACHED_TOKENS = Metric(
    "cached_tokens", "tokens", "prompt tokens found in the prefix cache; counted; one event is one subject",
    lambda _, run: [request.num_cached_tokens for request in answered(run)],
)  # fmt: skip
KEPT_BYTES = Metric(
    "kept_bytes", "bytes",
    "blocks filled and left to be found, until the pool needs them, × their size; 0 without prefix caching; "
    "counted; one event is one run",
    _kept_bytes,
)  # fmt: skip
LAST_TOKEN = Metric(
    "last_token", "ns", "duration of the step that made the last token; server clock; one event is one subject",
    lambda _, run: [token_step_ns(run, request, request.num_output_tokens) for request in _with_two_tokens(run)],
)  # fmt: skip
TOKEN_GROWTH = Metric(
    "token_growth", "share",
    "(step of the last token − step of token 2) / step of token 2; server clock; one event is one subject",
    lambda _, run: [_growth(run, request) for request in _with_two_tokens(run)],
)  # fmt: skip
READY_BYTES = Metric(
    "ready_bytes", "bytes",
    "(prompt and output tokens before the last − tokens computed in its step) × bytes of keys and values a token: what "
    "the last step found ready; counted; one event is one subject, alone in its steps",
    lambda experiment, run: [_ready_tokens(run, one) * token_bytes(experiment) for one in _with_two_tokens(run)],
)  # fmt: skip
POOL_BYTES = Metric(
    "pool_bytes", "bytes", "blocks of the pool × their size; counted; one event is one run",
    lambda experiment, run: [run.steps.kv_blocks_total * block_bytes(experiment)],
)  # fmt: skip
PREEMPTED = Metric(
    "preempted", "requests", "times that a request lost its blocks; counted; one event is one run",
    lambda _, run: [len(preempted_ids(run))],
)  # fmt: skip
RECOMPUTED_TOKENS = Metric(
    "recomputed_tokens", "tokens",
    "prefilled tokens − (prompt tokens − cached ones) of all requests; counted; one event is one run",
    lambda _, run: [_recomputed_tokens(run)],
)  # fmt: skip

PREFIX_LENGTHS = (128, 512, 2048)
CLAIMS: dict[str, list[Claim]] = {
    "e04": [
        Claim(CACHED_TOKENS, "A", "B", "more", "gain"),
        Claim(TTFT, "A", "B", "less", "gain"),
        Claim(KEPT_BYTES, "A", "B", "less", "gain"),
        Claim(FILL_TTFT, "A", "B", "same", "cost"),
        Claim(TPOT, "A", "B", "same", "effect"),
    ],
    "e10": [
        Claim(TOKEN_GROWTH, "A", "B", "less", "gain"),
        Claim(LAST_TOKEN, "A", "B", "less", "gain"),
        Claim(E2E, "A", "B", "less", "gain"),
        Claim(READY_BYTES, "A", "B", "more", "cost"),
    ],
    "e11": [
        claim
        for miss, hit in ((f"miss{length}", f"hit{length}") for length in PREFIX_LENGTHS)
        for claim in (
            Claim(CACHED_TOKENS, miss, hit, "more", "gain"),
            Claim(TTFT, miss, hit, "less", "gain"),
            Claim(TPOT, miss, hit, "same", "effect"),
            Claim(FILL_TTFT, miss, hit, "same", "cost"),
            Claim(KEPT_BYTES, miss, hit, "more", "cost"),
        )
    ],
    "e12": [
        Claim(POOL_BYTES, "A", "B", "less", "gain"),
        Claim(PREEMPTED, "A", "B", "more", "cost"),
        Claim(RECOMPUTED_TOKENS, "A", "B", "more", "cost"),
        Claim(E2E, "A", "B", "more", "cost"),
        Claim(MAKESPAN, "A", "B", "more", "cost"),
        Claim(FAILED, "A", "B", "same", "cost"),
    ],
}

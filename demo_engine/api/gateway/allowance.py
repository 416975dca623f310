"""What one key may still use, in requests and in tokens, and what one request of it uses."""

from __future__ import annotations

import math
import time
from typing import NamedTuple

from demo_engine.api.errors import ApiError
from demo_engine.api.gateway.bucket import TokenBucket
from demo_engine.recorder.server_trace import Attributes, StageClock


class Limits(NamedTuple):
    """Rates of one key; 0: no limit."""

    requests_per_minute: int = 0
    tokens_per_minute: int = 0
    burst_s: int = 60
    """How many seconds' worth may come at once."""


NO_LIMITS = Limits()


class Allowance:
    """The buckets of one key."""

    def __init__(self, limits: Limits) -> None:
        now_ns = time.monotonic_ns()
        self.requests = _bucket(limits.requests_per_minute, limits.burst_s, now_ns)
        self.tokens = _bucket(limits.tokens_per_minute, limits.burst_s, now_ns)


class Spending:
    """What one request takes from the allowance of its key; afterwards it pays for what it really used.

    Args:
        name: Whose key it is, for the trace.
        allowance: What that key may use.
    """

    def __init__(self, name: str, allowance: Allowance) -> None:
        self.used_tokens = 0
        """Tokens of prompt and answer, once they are known."""
        self._name = name
        self._allowance = allowance
        self._reserved_tokens = 0

    def take_request(self) -> None:
        """Count the request.

        Raises:
            ApiError: The key's requests are used up (429).
        """
        bucket = self._allowance.requests
        if bucket is not None:
            _take(bucket, 1, "requests")

    def reserve_tokens(self, estimate: int, stages: StageClock) -> None:
        """Take what the request may need, and mark the stage if its key has limits.

        A request that is refused here does not count as one, so that it may come again when it was told to.

        Raises:
            ApiError: The key's tokens are used up (429), or it may never use so many (400).
        """
        requests, tokens = self._allowance.requests, self._allowance.tokens
        if requests is None and tokens is None:
            return
        if tokens is not None:
            try:
                _take(tokens, estimate, "tokens")
            except ApiError:
                if requests is not None:
                    requests.give_back(1, time.monotonic_ns())
                raise
            self._reserved_tokens = estimate
        found: Attributes = {"key": self._name, "estimated_tokens": estimate}
        for name, bucket in (("requests_left", requests), ("tokens_left", tokens)):
            if bucket is not None:
                found[name] = bucket.available(time.monotonic_ns())
        stages.mark("admit", attributes=found)

    def settle(self) -> None:
        """Give back what was reserved and not used, or take what was used beyond it."""
        if self._allowance.tokens is not None:
            self._allowance.tokens.give_back(self._reserved_tokens - self.used_tokens, time.monotonic_ns())


def _bucket(rate_per_minute: int, burst_s: int, now_ns: int) -> TokenBucket | None:
    burst = max(1, rate_per_minute * burst_s // 60)
    return TokenBucket(rate_per_minute, burst, now_ns) if rate_per_minute else None


def _take(bucket: TokenBucket, amount: int, what: str) -> None:
    if amount > bucket.burst:
        raise ApiError(
            400, f"this key may use at most {bucket.burst} {what} at once; up to {amount} are asked for",
            code="rate_limit_exceeded",
        )  # fmt: skip
    wait_ns = bucket.take(amount, time.monotonic_ns())
    if wait_ns:
        wait_s = math.ceil(wait_ns / 1e9)
        raise ApiError(
            429, f"the limit of this key, {bucket.rate_per_minute} {what} a minute, is reached; wait {wait_s} s",
            code="rate_limit_exceeded", retry_s=wait_s,
        )  # fmt: skip

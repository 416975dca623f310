"""The token bucket, in whole numbers, so that what it promises holds exactly.

Source: Turner, "New directions in communications", IEEE Communications Magazine 24(10), 1986, which calls it the leaky
bucket as a meter.
"""

from __future__ import annotations

NS_PER_MINUTE = 60_000_000_000


class TokenBucket:
    """Fills at a steady rate up to a brim; whoever wants something takes it out.

    So in any stretch of time no more can be taken than flows in meanwhile and the brim together.

    The level is kept in units of which ``NS_PER_MINUTE`` make one: that many flow in each nanosecond as the rate has
    in a minute.

    Args:
        rate_per_minute: What flows in.
        burst: The brim; the bucket begins full.
        now_ns: The present instant.
    """

    def __init__(self, rate_per_minute: int, burst: int, now_ns: int) -> None:
        self.rate_per_minute = rate_per_minute
        self.burst = burst
        self._level = burst * NS_PER_MINUTE
        self._now_ns = now_ns

    def available(self, now_ns: int) -> int:
        """Return how much could be taken; less than 0 after more was used than had been taken."""
        self._fill(now_ns)
        return self._level // NS_PER_MINUTE

    def take(self, amount: int, now_ns: int) -> int:
        """Take it and return 0, or take nothing and return after how many nanoseconds it will be there.

        Raises:
            ValueError: It is more than the brim, so it never will be.
        """
        if amount > self.burst:
            raise ValueError(f"{amount} are more than the bucket holds: {self.burst}")
        self._fill(now_ns)
        missing = amount * NS_PER_MINUTE - self._level
        if missing > 0:
            return -(-missing // self.rate_per_minute)
        self._level -= amount * NS_PER_MINUTE
        return 0

    def give_back(self, amount: int, now_ns: int) -> None:
        """Put back what was taken and not used; a negative amount takes what was used beyond that, down to debt."""
        self._fill(now_ns)
        self._level = min(self.burst * NS_PER_MINUTE, self._level + amount * NS_PER_MINUTE)

    def _fill(self, now_ns: int) -> None:
        elapsed_ns = max(0, now_ns - self._now_ns)
        self._now_ns += elapsed_ns
        self._level = min(self.burst * NS_PER_MINUTE, self._level + elapsed_ns * self.rate_per_minute)

"""How often somebody may ask: a bucket each, which fills as time goes by."""

from __future__ import annotations

from tenuto.ports import Clock

_MOST = 10_000


class RateLimiter:
    """Buckets of those who have asked lately, in this process."""

    def __init__(self, clock: Clock, *, rate: float, burst: int, most: int = _MOST) -> None:
        """`rate` requests a second for long, `burst` at once; `most` buckets are kept."""
        if rate <= 0 or burst < 1:
            raise ValueError("a bucket holds at least one request, and is filled again")
        self._clock = clock
        self._rate = rate
        self._burst = float(burst)
        self._most = most
        self._buckets: dict[str, tuple[float, float]] = {}
        """By whom: what was left, and when; who asked longest ago first."""

    def take(self, who: str, cost: float = 1.0) -> float:
        """Count what somebody asks for; 0, or in how many seconds there is room for it.

        What there is no room for does not count. What is larger than a bucket needs a full one,
        and the rest of it is waited for afterwards.
        """
        now = self._clock.ticks()
        left, since = self._buckets.pop(who, (self._burst, now))
        left = min(self._burst, left + max(0.0, now - since) * self._rate)
        missing = min(cost, self._burst) - left
        if missing <= 0:
            left -= cost
        while len(self._buckets) >= self._most:
            # Whoever asked longest ago has, most likely, a full one.
            del self._buckets[next(iter(self._buckets))]
        self._buckets[who] = (left, now)
        return 0.0 if missing <= 0 else missing / self._rate

"""Rate limits: a token bucket for each client."""

from __future__ import annotations

from tenuto.ports import Clock

_MOST = 10_000


class RateLimiter:
    """The buckets of recent clients, in this process."""

    def __init__(self, clock: Clock, *, rate: float, burst: int, most: int = _MOST) -> None:
        """`rate` requests a second for long, `burst` at once; `most` buckets are kept."""
        if rate <= 0 or burst < 1:
            raise ValueError("a bucket holds at least one request, and is filled again")
        self._clock = clock
        self._rate = rate
        self._burst = float(burst)
        self._most = most
        self._buckets: dict[str, tuple[float, float]] = {}
        """By client: what was left, and when; the least recent first."""

    def take(self, who: str, cost: float = 1.0) -> float:
        """Take `cost` from a client's bucket; 0, or the seconds until there is enough in it.

        A refused request takes nothing. A cost above `burst` needs a full bucket, and leaves it in
        debt.
        """
        now = self._clock.ticks()
        left, since = self._buckets.pop(who, (self._burst, now))
        left = min(self._burst, left + max(0.0, now - since) * self._rate)
        missing = min(cost, self._burst) - left
        if missing <= 0:
            left -= cost
        while len(self._buckets) >= self._most:
            # The least recent client has, most likely, a full bucket.
            del self._buckets[next(iter(self._buckets))]
        self._buckets[who] = (left, now)
        return 0.0 if missing <= 0 else missing / self._rate

    def give_back(self, who: str) -> None:
        """Undo one `take` of a client that was not refused."""
        if who in self._buckets:
            left, since = self._buckets[who]
            self._buckets[who] = (left + 1.0, since)

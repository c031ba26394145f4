"""How many requests a principal may make: a bucket each, which fills as time goes by."""

from __future__ import annotations

from tenuto.api.problems import Refusal
from tenuto.ports import Clock

_MOST_KEPT = 10_000


class Rates:
    """Buckets of those who have asked lately."""

    def __init__(self, clock: Clock, rate: float | None, burst: int) -> None:
        """`rate` requests a second for long, `burst` at once; without a rate any number."""
        self._clock = clock
        self._rate = rate
        self._burst = float(burst)
        self._buckets: dict[str, tuple[float, float]] = {}
        """By whom: what was left, and when."""

    def take(self, who: str) -> None:
        """Count a request of somebody; 429 where they have made too many."""
        if self._rate is None:
            return
        now = self._clock.ticks()
        left, since = self._buckets.pop(who, (self._burst, now))
        left = min(self._burst, left + (now - since) * self._rate)
        if left < 1:
            self._keep(who, left, now)
            seconds = max(1, round((1 - left) / self._rate))
            raise Refusal(
                429,
                "TEN-4291",
                f"more than {self._rate:g} requests a second",
                headers={"retry-after": str(seconds)},
            )
        self._keep(who, left - 1, now)

    def _keep(self, who: str, left: float, now: float) -> None:
        if len(self._buckets) >= _MOST_KEPT:
            # Whoever asked longest ago has, most likely, a full one.
            self._buckets.pop(next(iter(self._buckets)))
        self._buckets[who] = left, now

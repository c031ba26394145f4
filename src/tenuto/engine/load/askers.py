"""Who asks how much: a tenant that asks for little is not refused for the load of the others."""

from __future__ import annotations

from collections import Counter
from typing import Final

_LITTLE: Final = 0.5
"""Of what tenants ask for on average."""


class Askers:
    """Requests of tenants in the period before this one, and in this one."""

    def __init__(self) -> None:
        self._before: Counter[str] = Counter()
        self._now: Counter[str] = Counter()

    def asks(self, tenant: str) -> bool:
        """Count a request; whether the tenant asks for much, beside the others or as the only one.

        A tenant counts with the larger of its two periods.
        """
        self._now[tenant] += 1
        before = self._before
        others = len(before) - (tenant in before)
        if not others:
            return True
        own = max(before[tenant], self._now[tenant])
        mean = (before.total() - before[tenant] + own) / (others + 1)
        return own >= _LITTLE * mean

    def turn(self) -> None:
        """A period is over."""
        self._before, self._now = self._now, Counter()

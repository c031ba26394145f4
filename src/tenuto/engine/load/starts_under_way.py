"""Starts that are not answered yet, and the most of them: Little's law.

A start waits for as long as those before it take: their number by the pace at which starts are
answered. So at most as many may be under way as are answered within the bound. The pace counts as
known while enough are under way to keep the process busy; else more may be possible.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

FIRST_PACE: Final = 1_000.0
"""Starts a second, until it is known better."""
LEAST: Final = 20
"""So many may always be under way."""
_BUSY: Final = 0.5
"""With this part of the most under way throughout a period the process was busy."""
_SMOOTHING: Final = 0.5


class Place:
    """The place of one start among those under way."""

    __slots__ = ("_of", "_tenant")

    def __init__(self, of: StartsUnderWay, tenant: str) -> None:
        self._of: StartsUnderWay | None = of
        self._tenant = tenant

    def leave(self) -> None:
        """The start is durable, or refused; calling it again does nothing."""
        of, self._of = self._of, None
        if of is not None:
            of.left(self._tenant)


class StartsUnderWay:
    """Counts starts, and measures the pace of their answers."""

    def __init__(self, bound_ms: float | None) -> None:
        """`bound_ms`: how long a start may take; None: any time."""
        self._bound = None if bound_ms is None else bound_ms / 1_000
        self.count = 0
        self.pace = FIRST_PACE
        """Starts a second that can be answered, as far as is known."""
        self._tenants: Counter[str] = Counter()
        """How many each tenant has under way."""
        self._answered = 0
        self._least = 0
        """The fewest that were under way in this period."""

    @property
    def most(self) -> int | None:
        """How many may be under way; None: any number."""
        return None if self._bound is None else max(LEAST, round(self._bound * self.pace))

    @property
    def seconds(self) -> float:
        """How long a start that comes now takes, about."""
        return self.count / self.pace

    @property
    def is_full(self) -> bool:
        """Whether as many are under way as may be."""
        most = self.most
        return most is not None and self.count >= most

    def is_full_for(self, tenant: str) -> bool:
        """Whether a tenant has its share of them too: one with less is still let in."""
        most = self.most
        if most is None or self.count < most:
            return False
        own = self._tenants[tenant]
        return own * (len(self._tenants) + (not own)) >= most

    def enter(self, tenant: str) -> Place:
        """A start of a tenant is taken."""
        self.count += 1
        self._tenants[tenant] += 1
        return Place(self, tenant)

    def left(self, tenant: str) -> None:
        """One is answered."""
        self.count -= 1
        self._tenants[tenant] -= 1
        if not self._tenants[tenant]:
            del self._tenants[tenant]
        self._answered += 1
        self._least = min(self._least, self.count)

    def measured(self, seconds: float) -> None:
        """A period of so many seconds is over."""
        pace, most = self._answered / seconds, self.most
        if most is not None and self._least >= _BUSY * most:
            self.pace += _SMOOTHING * (pace - self.pace)
        else:
            self.pace = max(self.pace, pace)
        self.pace = max(self.pace, 1.0)
        self._answered, self._least = 0, self.count

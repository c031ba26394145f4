"""Which of the attempts that wait for a place begins next: tenants take turns.

Once attempts of a second tenant have come, no tenant has all places: one of eight, and at least
one, is left to those that have fewer. Their next attempt would wait for the end of a long one
otherwise, although it is their turn. Of the places that replace stuck ones, a tenant has no more.
"""

from __future__ import annotations

from collections import Counter, deque

from tenuto.tasks.attempt import Attempt

_RESERVE = 8
"""One of so many places."""


class FairPlaces:
    """Places of one kind, and those who wait for them; changed from the loop alone."""

    def __init__(self, most: int, most_stuck: int = 0) -> None:
        """`most_stuck`: so many attempts that do not return are replaced."""
        self._most_of_tenant = _part(most)
        self._stuck_of_tenant = _part(most_stuck) if most_stuck else 0
        self._waiting: dict[str, deque[Attempt]] = {}
        """By tenant; the tenant whose turn it is comes first."""
        self._taken: Counter[str] = Counter()
        self._stuck: Counter[str] = Counter()
        """Of these, the attempts that do not return."""
        self._first: str | None = None
        """The tenant that came first."""
        self._is_shared = False
        """Whether another one came."""

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values()))

    def add(self, attempt: Attempt) -> None:
        tenant = attempt.facts.tenant
        if self._first is None:
            self._first = tenant
        self._is_shared = self._is_shared or tenant != self._first
        self._waiting.setdefault(tenant, deque()).append(attempt)

    @property
    def has_next(self) -> bool:
        """Whether an attempt waits that may have a place; those that need none any more go."""
        while (tenant := self._next_tenant()) is not None:
            if not self._waiting[tenant][0].is_told_to_stop:
                return True
            self._pop(tenant)
        return False

    def take(self) -> Attempt:
        """The next attempt, where there is one; it has a place until it has left."""
        tenant = self._next_tenant()
        assert tenant is not None
        self._taken[tenant] += 1
        return self._pop(tenant)

    def sticks(self, attempt: Attempt) -> None:
        """An attempt is over, and has not returned."""
        self._stuck[attempt.facts.tenant] += 1

    def left(self, attempt: Attempt, *, was_stuck: bool = False) -> None:
        """An attempt has returned."""
        tenant = attempt.facts.tenant
        self._taken[tenant] -= 1
        self._stuck[tenant] -= was_stuck
        if not self._taken[tenant]:
            del self._taken[tenant], self._stuck[tenant]

    def clear(self) -> None:
        """None of those that wait begins."""
        self._waiting.clear()

    def _next_tenant(self) -> str | None:
        # One tenant at most has too many places to be the next.
        return next((each for each in self._waiting if self._has_room(each)), None)

    def _has_room(self, tenant: str) -> bool:
        if not self._is_shared:
            return True
        replaced = min(self._stuck[tenant], self._stuck_of_tenant)
        return self._taken[tenant] - replaced < self._most_of_tenant

    def _pop(self, tenant: str) -> Attempt:
        queue = self._waiting.pop(tenant)
        attempt = queue.popleft()
        if queue:
            self._waiting[tenant] = queue
        return attempt


def _part(most: int) -> int:
    """The most places of one tenant."""
    return max(most - max(most // _RESERVE, 1), 1)

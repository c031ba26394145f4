"""Lets a few large reads, or changes, of a tenant be made at once; the others wait for their turn.

A list is read in portions, up to 8 MB of them, and an instance may be larger. Hundreds that are
made at once would all be in memory, half made, and each would end no sooner than if they came one
after the other. A change of a record is a few transactions, and the store may write one after the
other: a tenant that changes many at once would have its transactions before each one of the others.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable

from tenuto.model.errors import ProcessStops

AT_ONCE = 4
"""Lists of one tenant."""
CHANGES_AT_ONCE = 100
"""Changes of records of one tenant."""
CHANGES_BESIDE_OTHERS = 2
"""The same, while others are at work."""


class ListTurns:
    """The lists that are being made, by tenant; one without any is not kept."""

    def __init__(self, at_once: int = AT_ONCE, most_of: Callable[[str], int] | None = None) -> None:
        """`most_of`: how many of a tenant now, where that is not always the same."""
        self._most_of = most_of or (lambda _: at_once)
        self._under_way: Counter[str] = Counter()
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        self._is_ended = False

    async def enter(self, tenant: str) -> None:
        """Return when it is the turn of a list; it is over with `leave`. ProcessStops."""
        if self.has_room(tenant):
            self._under_way[tenant] += 1
            return
        if self._is_ended:
            raise _stopped()
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(tenant, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled() and turn.exception() is None:
                self.leave(tenant)  # it was given the turn in the same moment
            raise

    def has_room(self, tenant: str) -> bool:
        """Whether a list need not wait for its turn."""
        return self._under_way[tenant] < self._most_of(tenant)

    def leave(self, tenant: str) -> None:
        """A list is made: it is the turn of the one that has waited longest."""
        self._under_way[tenant] -= 1
        waiting = self._waiting.get(tenant)
        # One at least, whatever the bound is: nothing else would let it go on.
        while waiting and (not self._under_way[tenant] or self.has_room(tenant)):
            turn = waiting.popleft()
            if not waiting:
                del self._waiting[tenant]
            if not turn.done():
                turn.set_result(None)
                self._under_way[tenant] += 1
        if not self._under_way[tenant]:
            del self._under_way[tenant]

    def end(self) -> None:
        """Refuse those that wait, and would wait: the service stops."""
        self._is_ended = True
        for turns in self._waiting.values():
            for turn in turns:
                if not turn.done():
                    turn.set_exception(_stopped())
        self._waiting.clear()

    @property
    def has_waiting(self) -> bool:
        """Whether any list waits for its turn."""
        return any(not turn.done() for turns in self._waiting.values() for turn in turns)

    def __len__(self) -> int:
        """The number of tenants with lists under way."""
        return len(self._under_way)


def _stopped() -> ProcessStops:
    return ProcessStops("the service stopped before it was the turn of the list")

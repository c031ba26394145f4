"""Lets a few large reads, or changes, of a tenant be made at once; the others wait for their turn.

A list is read in portions, up to 8 MB of them, and an instance may be larger. Hundreds that are
made at once would all be in memory, half made, and each would end no sooner than if they came one
after the other. A change of a record is a few transactions, and the store may write one after the
other: a tenant that changes many at once would have its transactions before each one of the others.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Callable

from tenuto.model.errors import Overloaded, ProcessStops

READS_AT_ONCE = 4
"""Lists, and other large reads, of one tenant."""
CHANGES_AT_ONCE = 100
"""Changes of records of one tenant."""
CHANGES_BESIDE_OTHERS = 2
"""The same, while others are at work."""
MOST_CHANGES_WAITING = 500
"""Of one tenant: each has a request and its body in memory until its turn."""
MOST_BYTES_WAITING = 32_000_000
"""Of the bodies of one tenant, of its reads and of its changes."""


class RequestTurns:
    """The requests that are under way, and those that wait, by tenant.

    A tenant without any is not kept.
    """

    def __init__(
        self,
        at_once: int = READS_AT_ONCE,
        most_of: Callable[[str], int] | None = None,
        *,
        most_waiting: int | None = None,
        most_bytes: int = MOST_BYTES_WAITING,
    ) -> None:
        """`most_of`: how many of a tenant now, where that is not always the same.

        `most_waiting` requests of a tenant wait, and so many bytes of their bodies; None: any
        number. One alone waits at any size.
        """
        self._most_of = most_of or (lambda _: at_once)
        self._most_waiting = most_waiting
        self._most_bytes = most_bytes
        self._under_way: Counter[str] = Counter()
        self._waiting: dict[str, _Waiting] = {}
        self._is_ended = False

    async def enter(self, tenant: str, size: int = 0) -> None:
        """Return when it is the turn of a request; it is over with `leave`.

        `size`: of its body, in bytes. Overloaded, ProcessStops.
        """
        turn = self.ask(tenant, size)
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled() and turn.exception() is None:
                self.leave(tenant)  # it was given the turn in the same moment
            raise

    def ask(self, tenant: str, size: int = 0) -> asyncio.Future[None]:
        """The turn of a request: done when it is its turn, which is over with `leave`.

        It is cancelled where the request is given up before. Overloaded, ProcessStops.
        """
        # More may have room than when the last one left: those that wait come first.
        self._give_turns(tenant)
        turn = asyncio.get_running_loop().create_future()
        waiting = self._waiting.get(tenant)
        if waiting is None and self._has_room(tenant):
            self._under_way[tenant] += 1
            turn.set_result(None)
            return turn
        if self._is_ended:
            raise _stopped()
        if waiting is None:
            waiting = self._waiting[tenant] = _Waiting()
        elif len(waiting.sizes) == self._most_waiting:
            raise Overloaded(f"{len(waiting.sizes):,} requests of the tenant wait for their turn")
        elif size and waiting.bytes and waiting.bytes + size > self._most_bytes:
            raise Overloaded(
                f"{waiting.bytes:,} bytes of the tenant's requests wait for their turn"
            )
        waiting.add(turn, size)
        turn.add_done_callback(lambda turn: self._forget(tenant, turn))
        return turn

    def leave(self, tenant: str) -> None:
        """A request is over: it is the turn of the one that has waited longest."""
        self._under_way[tenant] -= 1
        self._give_turns(tenant)
        if not self._under_way[tenant]:
            del self._under_way[tenant]

    def end(self) -> None:
        """Refuse those that wait, and would wait: the service stops."""
        self._is_ended = True
        for waiting in self._waiting.values():
            for turn in waiting.sizes:
                if not turn.done():
                    turn.set_exception(_stopped())
        self._waiting.clear()

    @property
    def has_waiting(self) -> bool:
        """Whether any request waits for its turn."""
        return any(not turn.done() for each in self._waiting.values() for turn in each.sizes)

    def __len__(self) -> int:
        """The number of tenants with requests under way."""
        return len(self._under_way)

    def _has_room(self, tenant: str) -> bool:
        return self._under_way[tenant] < self._most_of(tenant)

    def _give_turns(self, tenant: str) -> None:
        """Those that have waited longest are under way, as many as have room now."""
        waiting = self._waiting.get(tenant)
        # One at least, whatever the bound is: nothing else would let it go on.
        while waiting and (not self._under_way[tenant] or self._has_room(tenant)):
            turn = waiting.popleft()
            if not waiting:
                del self._waiting[tenant]
            if not turn.done():
                turn.set_result(None)
                self._under_way[tenant] += 1

    def _forget(self, tenant: str, turn: asyncio.Future[None]) -> None:
        """A request waits no longer: its body does not count any more where it was given up."""
        waiting = self._waiting.get(tenant)
        if waiting is not None:
            waiting.discard(turn)
            if not waiting:
                del self._waiting[tenant]


class _Waiting:
    """The requests of a tenant that wait, in order."""

    __slots__ = ("bytes", "sizes")

    def __init__(self) -> None:
        self.sizes: OrderedDict[asyncio.Future[None], int] = OrderedDict()
        """The turn of each, and the bytes of its body."""
        self.bytes = 0
        """Of all their bodies."""

    def add(self, turn: asyncio.Future[None], size: int) -> None:
        self.sizes[turn] = size
        self.bytes += size

    def popleft(self) -> asyncio.Future[None]:
        turn, size = self.sizes.popitem(last=False)
        self.bytes -= size
        return turn

    def discard(self, turn: asyncio.Future[None]) -> None:
        self.bytes -= self.sizes.pop(turn, 0)

    def __bool__(self) -> bool:
        return bool(self.sizes)


def _stopped() -> ProcessStops:
    return ProcessStops("the service stopped before it was the turn of the request")

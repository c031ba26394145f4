"""What the lanes of a process know together: whether several tenants are at work.

While they are, turns are small, and one lane at a time works on the backlog of a tenant. The store
commits turns one after the other, so that a tenant with little to do would otherwise wait for the
backlog in each of the lanes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable

SHARED_TURNS = 1_000
"""After so many turns of one tenant alone its turns are large again."""


class Sharing:
    """One for all lanes of a process."""

    def __init__(self) -> None:
        self._newest_tenant = ""
        self._turns_left = 0
        """For how many turns it counts that another tenant was at work."""
        self._holder: object | None = None
        """The lane that works on backlogs, or is the next to do so."""
        self._is_at_work = False
        self._lanes: list[Callable[[], None]] = []
        self._rests = 0
        self.resting: dict[str, int] = {}
        """Tenants of which nothing is taken for a moment, since their turns take long; and the
        number of the rest of each."""
        self._waiting: deque[tuple[object, Callable[[], None]]] = deque()

    def join(self, wake_up: Callable[[], None]) -> None:
        """There is another lane."""
        self._lanes.append(wake_up)

    def rest(self, tenants: Collection[str]) -> Callable[[], None]:
        """Take nothing of these tenants until what is returned is called."""
        self._rests += 1
        number = self._rests
        self.resting |= dict.fromkeys(tenants, number)

        def rested() -> None:
            for tenant in tenants:
                if self.resting.get(tenant) == number:
                    del self.resting[tenant]
            for wake_up in self._lanes:
                wake_up()

        return rested

    @property
    def is_shared(self) -> bool:
        """Whether several tenants are at work, or were a moment ago."""
        return self._turns_left > 0

    def begin(self) -> None:
        """Count as shared from now on."""
        self._turns_left = SHARED_TURNS

    def saw(self, tenants: Iterable[str]) -> None:
        """These tenants have something to do in the next turn of a lane."""
        self._turns_left -= self._turns_left > 0
        for tenant in tenants:
            if tenant and tenant != self._newest_tenant:
                if self._newest_tenant:
                    self.begin()
                self._newest_tenant = tenant

    def may_work_off(self, lane: object, wake_up: Callable[[], None]) -> bool:
        """Whether a lane may take a part of a backlog; if not, it is woken up when it may."""
        if self._holder is None:
            self._holder = lane
        if self._holder is lane:
            self._is_at_work = True
        elif all(each is not lane for each, _ in self._waiting):
            self._waiting.append((lane, wake_up))
        return self._holder is lane

    def is_left_to_another(self, lane: object) -> bool:
        """Whether another lane works on backlogs just now."""
        return self.is_shared and self._holder is not None and self._holder is not lane

    def ended(self, lane: object) -> None:
        """The turn of a lane is over: if it was one on a backlog, another lane has the next."""
        if self._is_at_work:
            self.give_up(lane)

    def give_up(self, lane: object) -> None:
        """A lane has no backlog."""
        if self._holder is lane:
            self._holder, self._is_at_work = None, False
            if self._waiting:
                self._holder, wake_up = self._waiting.popleft()
                wake_up()

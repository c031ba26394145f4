"""What the lanes of a process know together: whether several tenants are at work.

While they are, turns are small, and one lane at a time works on the backlog of a tenant. The store
commits turns one after the other, so that a tenant with little to do would otherwise wait for the
backlog in each of the lanes. While a tenant without a backlog is at work, those with one rest after
each turn for three times as long as it took: an instance has several turns, and many rounds of the
event loop, and would otherwise wait each time. Other work that input can make large rests in the
same way (`rest_after`): batches of starts, matching, the outbox, checks of large values.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Callable, Collection, Iterable
from weakref import WeakValueDictionary

REST_TIMES = 3
"""Large work rests so many times as long as it took, and has a quarter of the time."""
LONGEST_REST = 0.1
"""Seconds: a slow store is no fault of a tenant."""
LIGHT_SECONDS = 0.05
"""For so long after its last input a tenant without a backlog counts as at work."""
LIGHT_ROUNDS = 50
"""Also for as long as so much work takes that is as long: the next input of an instance, or of one
that is asked for, comes so many rounds of the event loop later, and may wait in each."""
LATELY = 1.0
"""Seconds after which it no longer counts that another tenant was at work, for slots."""
SHARED_TURNS = 1_000
"""After so many turns of one tenant alone its turns are large again."""
MOST_LIGHT = 8
"""So many of these tenants are remembered; the newest ones."""


class Sharing:
    """One for all lanes of a process."""

    def __init__(self, ticks: Callable[[], float] = lambda: 0.0) -> None:
        """`ticks` tells the time in seconds, to any thread."""
        self._ticks = ticks
        self._newest_tenant = ""
        self._turns_left = 0
        """For how many turns it counts that another tenant was at work."""
        self._holder: object | None = None
        """The lane that works on backlogs, or is the next to do so."""
        self._is_at_work = False
        self._lanes: list[Callable[[], None]] = []
        self.is_ended = False
        """Whether the engine stops."""
        self._rests = 0
        self.resting: dict[str, int] = {}
        """Tenants of which nothing is taken for a moment, since their turns take long; and the
        number of the rest of each."""
        self._waiting: deque[tuple[object, Callable[[], None]]] = deque()
        self.batches = asyncio.Lock()
        """Held by the batch of starts some of which begin."""
        self._light: dict[str, float] = {}
        """Tenants without a backlog, and when each last had something to do."""
        self._light_at = self._newest_at = self._shared_at = -math.inf
        """When one of them had, when any tenant had, and when it was another than before."""
        self._batches: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

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
        return self._turns_left > 0 and not self.is_ended

    def begin(self) -> None:
        """Count as shared from now on."""
        self._turns_left = SHARED_TURNS

    def batches_of(self, tenant: str) -> asyncio.Lock:
        """Held by the batch of a tenant some of whose starts begin, and while it rests."""
        lock = self._batches.get(tenant)
        if lock is None:
            lock = self._batches[tenant] = asyncio.Lock()
        return lock

    @property
    def was_shared_lately(self) -> bool:
        """Whether another tenant was at work within the last second."""
        return self._ticks() - self._shared_at < LATELY

    def rest_after(
        self,
        seconds: float,
        tenant: str | None = None,
        longest: float = LONGEST_REST,
        *,
        is_in_loop: bool = False,
    ) -> float:
        """How long work rests that took so long; 0 where no other tenant is at work.

        `tenant`: the one whose work it is; None: that of several. `is_in_loop`: the event loop, or
        the interpreter, was kept all the time, so that inputs of others are late for it.
        """
        lately = _lately(seconds if is_in_loop else 0.0)
        if self.is_ended or not self._has_other(tenant, lately):
            return 0.0
        return min(REST_TIMES * seconds, longest)

    def is_beside_others(self, tenant: str) -> bool:
        """Whether another tenant is at work, or was a moment ago."""
        return not self.is_ended and self._has_other(tenant, _lately(0.0))

    def _has_other(self, tenant: str | None, lately: float) -> bool:
        since = self._ticks() - lately
        if tenant is None:
            return self.is_shared and self._light_at >= since
        if self._newest_at >= since and self._newest_tenant not in ("", tenant):
            return True
        # A copy: threads ask too.
        return any(at >= since and each != tenant for each, at in [*self._light.items()])

    def end(self) -> None:
        """Take large turns without rests: the engine stops, and what waits is written soon."""
        self.is_ended = True
        self.resting.clear()
        for wake_up in self._lanes:
            wake_up()

    def saw(self, tenants: Iterable[str]) -> None:
        """These tenants have something to do in the next turn of a lane."""
        self._turns_left -= self._turns_left > 0
        for tenant in tenants:
            if tenant:
                self._newest_at = self._ticks()
                if tenant != self._newest_tenant:
                    if self._newest_tenant:
                        self.begin()
                        self._shared_at = self._newest_at
                    self._newest_tenant = tenant

    def weighed(self, light: Iterable[str], heavy: Collection[str]) -> None:
        """These tenants have something to do: without a backlog, or with one."""
        for tenant in heavy:
            self._light.pop(tenant, None)
        now = self._ticks()
        for tenant in light:
            self._light.pop(tenant, None)
            self._light[tenant] = self._light_at = now
        while len(self._light) > MOST_LIGHT:
            del self._light[next(iter(self._light))]

    def has_light_beside(self, tenants: Collection[str], seconds: float = 0.0) -> bool:
        """Whether a tenant without a backlog is at work, other than these.

        `seconds`: for how long decisions have kept the event loop, so that its inputs are late.
        """
        since = self._ticks() - _lately(seconds)
        return any(at >= since and each not in tenants for each, at in self._light.items())

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


def _lately(seconds: float) -> float:
    """For how long a tenant is at work after its last input, beside parts that take so long."""
    return max(LIGHT_SECONDS, min(LIGHT_ROUNDS * seconds, LATELY))

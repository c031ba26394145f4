"""What this program cannot read: given back to processes that can, and left alone for a while.

While an upgrade is rolled out, old and new programs share a store, and a new one may write what an
old one cannot read. Whoever kept such a thing would keep it from all the others. What cannot be
read today will hardly be read tomorrow, so each time it is left alone for longer than before.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Sequence
from typing import NamedTuple

from tenuto.engine.outage import Outage
from tenuto.engine.requests import Request
from tenuto.model.errors import StoreUnavailable
from tenuto.model.policy import BAD_WEATHER
from tenuto.ports import Clock
from tenuto.store.protocol import Lease, Orphan, Store, Unread

log = logging.getLogger("tenuto.engine")

FIRST_PAUSE, LONGEST_PAUSE = 60.0, 3600.0
MOST = 10_000
"""So many instances, and letters, are kept in mind; past that nothing more is taken over."""


class _Left(NamedTuple):
    """One thing that is left alone."""

    instance_id: str
    pause: float
    until: float


class _LeftAlone:
    """Things by their ids, each left alone for a while that grows."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._left: dict[str, _Left] = {}

    def add(self, id: str, instance_id: str) -> bool:
        """Leave it alone; whether it was not so already."""
        now, known = self._clock.ticks(), self._left.pop(id, None)
        is_new = known is None or now >= known.until
        if known is None or is_new:
            pause = FIRST_PAUSE if known is None else min(known.pause * 2, LONGEST_PAUSE)
            known = _Left(instance_id, pause, now + pause)
        self._left[id] = known
        if len(self._left) > MOST:
            del self._left[next(iter(self._left))]
        return is_new

    def forget(self) -> None:
        """Of what has not come again for as long as it was left alone nothing is kept."""
        now = self._clock.ticks()
        self._left = {id: left for id, left in self._left.items() if now < left.until + left.pause}

    @property
    def ids(self) -> list[str]:
        """What is left alone now."""
        now = self._clock.ticks()
        return [id for id, left in self._left.items() if now < left.until]

    @property
    def instance_ids(self) -> set[str]:
        """Whose it all is, also of what may come again."""
        return {left.instance_id for left in self._left.values()}

    def __len__(self) -> int:
        return len(self._left)


class LeftToOthers:
    """Gives back what comes to this process and cannot be read here, in batches."""

    def __init__(
        self,
        *,
        store: Store,
        clock: Clock,
        outage: Outage,
        errand: Callable[[Coroutine[None, None, None]], object],
        given_back: Callable[[Request], None],
    ) -> None:
        """`given_back` hears of what had been asked of such an instance, once it is others'."""
        self._store = store
        self._outage = outage
        self._clock = clock
        self._errand = errand
        self._given_back = given_back
        self._instances = _LeftAlone(clock)
        self._letters = _LeftAlone(clock)
        self._orphans: list[Orphan] = []
        self._mail: list[str] = []
        self._leases: list[Lease] = []
        self._requests: list[Request] = []
        self._is_giving = False

    @property
    def is_full(self) -> bool:
        """Whether there is so much that more of it could not be told from what is new."""
        return len(self._instances) >= MOST

    @property
    def instances_of_letters(self) -> set[str]:
        """For whom there may be letters that cannot be read here: perhaps their start."""
        return self._letters.instance_ids

    def instance(self, orphan: Orphan, requests: Sequence[Request], error: Exception) -> None:
        """Its log, or its workflow, cannot be read."""
        if self._instances.add(orphan.instance_id, orphan.instance_id):
            log.warning("%s is left to a newer program: %s", orphan.instance_id, error)
        self._orphans.append(orphan)
        self._requests += requests
        self._mail += [each.mail_id for each in requests if each.mail_id is not None]
        self._begin()

    def letter(self, mail_id: str, instance_id: str) -> None:
        """The letter cannot be read; the instance that it is for perhaps can."""
        self._letters.add(mail_id, instance_id)
        self._mail.append(mail_id)
        self._begin()

    def job(self, lease: Lease, error: Exception) -> None:
        """It cannot be read what is to be done."""
        if self._instances.add(lease.key.instance_id, lease.key.instance_id):
            log.warning("a job of %s is left to a newer program: %s", lease.key.instance_id, error)
        self._leases.append(lease)
        self._begin()

    async def run_once(self) -> None:
        """Let come again what has been left alone for long enough."""
        if len(self._instances) + len(self._letters):
            self._instances.forget()
            self._letters.forget()
            await self._pass_over()

    def _begin(self) -> None:
        if not self._is_giving:
            self._is_giving = True
            self._errand(self._give_back())

    async def _give_back(self) -> None:
        try:
            while self._orphans or self._mail or self._leases:
                await self._give_back_once()
        finally:
            self._is_giving = False

    async def _give_back_once(self) -> None:
        unread = Unread(
            instances=tuple(self._orphans), letters=tuple(self._mail), leases=tuple(self._leases)
        )
        requests = self._requests
        self._orphans, self._mail, self._leases, self._requests = [], [], [], []
        while True:
            try:
                # First of all: what is given back must not come here again.
                await self._pass_over()
                if await self._store.give_back(unread):
                    await self._store.hint(())
                self._outage.worked("giving back")
                break
            except StoreUnavailable as error:
                self._outage.noticed("giving back", error)
                await self._clock.sleep(BAD_WEATHER)
        for request in requests:
            self._given_back(request)

    async def _pass_over(self) -> None:
        await self._store.pass_over(self._instances.ids, self._letters.ids)

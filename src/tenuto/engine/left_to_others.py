"""What this program cannot read: given back to processes that can, and left alone for a while.

While an upgrade is rolled out, old and new programs share a store, and a new one may write what an
old one cannot read. Whoever kept such a thing would keep it from all the others. What cannot be
read today will hardly be read tomorrow, so each time it is left alone for longer than before.
Where there is more of it than can be kept in mind, the process goes on with what it owns, and takes
on nothing else until much of it may come again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Generic, NamedTuple, TypeVar

from tenuto.engine.bounds import DEFAULT_BOUNDS
from tenuto.engine.outage import Outage
from tenuto.engine.requests import Request
from tenuto.model.errors import StoreUnavailable
from tenuto.model.policy import BAD_WEATHER
from tenuto.ports import Clock
from tenuto.store.parts.jobs import Lease
from tenuto.store.parts.mailbox import MailKey
from tenuto.store.parts.members import Orphan, Unread
from tenuto.store.protocol import Store

log = logging.getLogger("tenuto.engine")

FIRST_PAUSE, LONGEST_PAUSE = 60.0, 3600.0

K = TypeVar("K")


class _Left(NamedTuple):
    """For how long a thing is left alone."""

    pause: float
    until: float


class _LeftAlone(Generic[K]):
    """Things by their keys, each left alone for a while that grows."""

    def __init__(self, clock: Clock, most: int) -> None:
        self._clock = clock
        self._most = most
        self._left: dict[K, _Left] = {}

    def add(self, key: K) -> bool:
        """Leave it alone, if there is room; whether it was not so already."""
        now, known = self._clock.ticks(), self._left.get(key)
        if known is not None and now < known.until:
            return False
        if known is None and not self._has_room:
            return True
        pause = FIRST_PAUSE if known is None else min(known.pause * 2, LONGEST_PAUSE)
        self._left[key] = _Left(pause, now + pause)
        return True

    @property
    def _has_room(self) -> bool:
        """Room is made by what may come again, and never by what would then come at once."""
        if len(self._left) >= self._most:
            now = self._clock.ticks()
            self._left = {key: left for key, left in self._left.items() if now < left.until}
        return len(self._left) < self._most

    def forget(self) -> None:
        """Of what has not come again for as long as it was left alone nothing is kept."""
        now = self._clock.ticks()
        self._left = {
            key: left for key, left in self._left.items() if now < left.until + left.pause
        }

    @property
    def now(self) -> list[K]:
        """What is left alone now."""
        now = self._clock.ticks()
        return [key for key, left in self._left.items() if now < left.until]

    @property
    def known(self) -> Iterable[K]:
        """What is kept in mind, also what may come again."""
        return self._left.keys()

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
        most: int = DEFAULT_BOUNDS.unreadable_kept,
    ) -> None:
        """`given_back` hears of what had been asked of such an instance, once it is others'.

        `most` are kept in mind.
        """
        self._most = most
        self._store = store
        self._outage = outage
        self._clock = clock
        self._errand = errand
        self._given_back = given_back
        self._instances: _LeftAlone[str] = _LeftAlone(clock, most)
        self._letters: _LeftAlone[MailKey] = _LeftAlone(clock, most)
        self.is_full = False
        """Whether there is so much that more of it could not be told from what is new."""
        self._orphans: list[Orphan] = []
        self._mail: list[MailKey] = []
        self._leases: list[Lease] = []
        self._requests: list[Request] = []
        self._is_giving = False

    @property
    def instances_of_letters(self) -> set[str]:
        """For whom there may be letters that cannot be read here: perhaps their start."""
        return {key.instance_id for key in self._letters.known}

    def instance(self, orphan: Orphan, requests: Sequence[Request], error: Exception) -> None:
        """Its log, or its workflow, cannot be read."""
        if self._instances.add(orphan.instance_id):
            log.warning("%s is left to a newer program: %s", orphan.instance_id, error)
        self._orphans.append(orphan)
        self._requests += requests
        self._mail += [
            MailKey(each.mail_id, each.instance_id) for each in requests if each.mail_id is not None
        ]
        self._begin()

    def letter(self, letter: MailKey) -> None:
        """The letter cannot be read; the instance that it is for perhaps can."""
        self._letters.add(letter)
        self._mail.append(letter)
        self._begin()

    def job(self, lease: Lease, error: Exception) -> None:
        """It cannot be read what is to be done."""
        if self._instances.add(lease.key.instance_id):
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
            instances=tuple(self._orphans), messages=tuple(self._mail), leases=tuple(self._leases)
        )
        requests = self._requests
        self._orphans, self._mail, self._leases, self._requests = [], [], [], []
        while True:
            try:
                # First of all: what is given back must not come here again.
                await self._pass_over()
                if await self._store.members.give_back(unread):
                    await self._store.members.hint(())
                self._outage.worked("giving back")
                break
            except StoreUnavailable as error:
                self._outage.noticed("giving back", error)
                await self._clock.sleep(BAD_WEATHER)
        for request in requests:
            self._given_back(request)

    async def _pass_over(self) -> None:
        instances, letters = self._instances.now, self._letters.now
        self._count(max(len(instances), len(letters)))
        await self._store.members.pass_over(instances, letters, only_own=self.is_full)

    def _count(self, left: int) -> None:
        """Once full it stays so until there is room for many: looking for one would bring many."""
        most = self._most // 2 if self.is_full else self._most
        was_full, self.is_full = self.is_full, left >= most
        if self.is_full and not was_full:
            log.warning(
                "%d instances or letters are left to a newer program: until some of them may come "
                "again nothing is taken on here",
                left,
            )

"""Data that this program cannot read: given back to processes that can, and ignored for a while.

During a rolling upgrade old and new programs share a store, and a new one may write data that an
old one cannot read. A process that kept such data would keep it from all others. Since it will
hardly be readable soon, the time for which it is ignored grows with each return. If there is more
than the bound, the process only works on instances that it owns, and claims nothing else until many
entries have expired.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Generic, NamedTuple, TypeVar

from tenuto.engine.bounds import DEFAULT_BOUNDS
from tenuto.engine.outage import Outage
from tenuto.engine.turns.requests import Request
from tenuto.model.errors import StoreUnavailable
from tenuto.model.policy import OUTAGE_RETRY_SECONDS
from tenuto.ports import Clock
from tenuto.store.parts.jobs import Lease
from tenuto.store.parts.mailbox import MailKey
from tenuto.store.parts.members import Orphan, Unread
from tenuto.store.protocol import Store

log = logging.getLogger("tenuto.engine")

FIRST_PAUSE, LONGEST_PAUSE = 60.0, 3600.0

K = TypeVar("K")


class _Pause(NamedTuple):
    """For how long an entry is ignored."""

    pause: float
    until: float


class _Ignored(Generic[K]):
    """Keys that are ignored, each for a growing time."""

    def __init__(self, clock: Clock, most: int) -> None:
        self._clock = clock
        self._most = most
        self._left: dict[K, _Pause] = {}

    def add(self, key: K) -> bool:
        """Ignore a key, if there is room; returns whether it was not ignored already."""
        now, known = self._clock.ticks(), self._left.get(key)
        if known is not None and now < known.until:
            return False
        if known is None and not self._has_room:
            return True
        pause = FIRST_PAUSE if known is None else min(known.pause * 2, LONGEST_PAUSE)
        self._left[key] = _Pause(pause, now + pause)
        return True

    @property
    def _has_room(self) -> bool:
        """Room is made by expired entries only: others would return at once."""
        if len(self._left) >= self._most:
            now = self._clock.ticks()
            self._left = {key: left for key, left in self._left.items() if now < left.until}
        return len(self._left) < self._most

    def forget(self) -> None:
        """Drop entries that have not returned for as long as they were ignored."""
        now = self._clock.ticks()
        self._left = {
            key: left for key, left in self._left.items() if now < left.until + left.pause
        }

    @property
    def now(self) -> list[K]:
        """The keys that are ignored now."""
        now = self._clock.ticks()
        return [key for key, left in self._left.items() if now < left.until]

    @property
    def known(self) -> Iterable[K]:
        """All keys, also expired ones."""
        return self._left.keys()

    def __len__(self) -> int:
        return len(self._left)


class Unreadable:
    """Gives back instances, mailbox messages and jobs that this program cannot read, in batches."""

    def __init__(
        self,
        *,
        store: Store,
        clock: Clock,
        outage: Outage,
        spawn: Callable[[Coroutine[None, None, None]], object],
        given_back: Callable[[Request], None],
        most: int = DEFAULT_BOUNDS.unreadable_kept,
    ) -> None:
        """`given_back` takes each request to an instance that was given back.

        `most`: the bound on entries.
        """
        self._most = most
        self._store = store
        self._outage = outage
        self._clock = clock
        self._spawn = spawn
        self._given_back = given_back
        self._instances: _Ignored[str] = _Ignored(clock, most)
        self._messages: _Ignored[MailKey] = _Ignored(clock, most)
        self.is_full = False
        """Whether the bound is reached, so that further entries could not be recognised."""
        self._orphans: list[Orphan] = []
        self._mail: list[MailKey] = []
        self._leases: list[Lease] = []
        self._requests: list[Request] = []
        self._is_giving = False

    @property
    def instances_of_messages(self) -> set[str]:
        """Instances with unreadable mailbox messages, which may be their starts."""
        return {key.instance_id for key in self._messages.known}

    def instance(self, orphan: Orphan, requests: Sequence[Request], error: Exception) -> None:
        """Its log, or its workflow, cannot be read."""
        if self._instances.add(orphan.instance_id):
            log.warning("instance=%s is left to a newer program: %s", orphan.instance_id, error)
        self._orphans.append(orphan)
        self._requests += requests
        self._mail += [
            MailKey(each.mail_id, each.instance_id) for each in requests if each.mail_id is not None
        ]
        self._begin()

    def message(self, message: MailKey) -> None:
        """The mailbox message cannot be read; its instance perhaps can."""
        self._messages.add(message)
        self._mail.append(message)
        self._begin()

    def job(self, lease: Lease, error: Exception) -> None:
        """The instance of a job cannot be read."""
        if self._instances.add(lease.key.instance_id):
            log.warning(
                "instance=%s: a job is left to a newer program: %s", lease.key.instance_id, error
            )
        self._leases.append(lease)
        self._begin()

    async def run_once(self) -> None:
        """Let expired entries be claimed again."""
        if len(self._instances) + len(self._messages):
            self._instances.forget()
            self._messages.forget()
            await self._pass_over()

    def _begin(self) -> None:
        if not self._is_giving:
            self._is_giving = True
            self._spawn(self._give_back())

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
                # First of all: this process must not claim again what it gives back.
                await self._pass_over()
                if await self._store.members.give_back(unread):
                    await self._store.members.hint(())
                self._outage.worked("giving back")
                break
            except StoreUnavailable as error:
                self._outage.noticed("giving back", error)
                await self._clock.sleep(OUTAGE_RETRY_SECONDS)
        for request in requests:
            self._given_back(request)

    async def _pass_over(self) -> None:
        instances, messages = self._instances.now, self._messages.now
        self._count(max(len(instances), len(messages)))
        await self._store.members.pass_over(instances, messages, only_own=self.is_full)

    def _count(self, left: int) -> None:
        """Once full, it stays full until half has expired: one free place would bring many."""
        most = self._most // 2 if self.is_full else self._most
        was_full, self.is_full = self.is_full, left >= most
        if self.is_full and not was_full:
            log.warning(
                "%d instances or messages are left to a newer program: until some of them may come "
                "again nothing is taken on here",
                left,
            )

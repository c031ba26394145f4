"""Membership: which processes live, and takeover of what dead ones owned."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime, timedelta
from typing import NamedTuple, Protocol

from msgspec import Struct

from tenuto.store.marks import writes
from tenuto.store.parts.jobs import Lease
from tenuto.store.parts.mailbox import MailKey
from tenuto.store.parts.tasks import TasksMark

BEAT_EVERY = timedelta(seconds=3)
"""How often a process beats unless its store says otherwise."""

WRONG_CLOCK = timedelta(days=1)
"""Who is so far ahead has a clock that is wrong; who is less far ahead is followed."""


class Orphan(NamedTuple):
    """An instance whose owner is gone; `clean` when that process stopped in good order."""

    instance_id: str
    clean: bool


class Unread(Struct, frozen=True, gc=False, kw_only=True):
    """What came to a process whose program cannot read it."""

    instances: tuple[Orphan, ...] = ()
    """`clean` where what was under way for it was stopped in good order; what was taken over and
    not begun with is as clean as it was then."""
    letters: tuple[MailKey, ...] = ()
    """Mail for those instances, or such as is itself not to be read."""
    leases: tuple[Lease, ...] = ()
    """On jobs that were not begun."""


class Pulse(NamedTuple):
    """What a process hears when it says that it lives."""

    at: datetime | None
    """The store's own clock, where it has one that all its processes share."""
    has_orphans: bool
    """Whether a process is gone and has left something to take over that is not passed over."""
    tasks: TasksMark | None = None
    """Whether tasks were declared elsewhere; None: nobody else declares any."""


class Members(Protocol):
    """The processes that share a store."""

    @writes
    async def enter(self, process_id: str, now: datetime) -> None:
        """Go on under a new process id, after having been `Fenced`."""

    @writes
    async def beat(self) -> Pulse:
        """Say that this process lives, and hear of those that do not; Fenced."""

    async def workers(self) -> int:
        """How many living processes take mail, as far as is known: one too many for a while."""

    async def living(self, process_ids: Collection[str]) -> set[str]:
        """Those of these processes that live, as far as is known; for people who ask."""

    async def listen(self, hear: Callable[[], None]) -> None:
        """From now on `hear` is called when somebody hints at something for this process.

        A hint may get lost, and a store may have none: the mailbox is looked into all the same.
        """

    async def hint(self, process_ids: Collection[str]) -> None:
        """Tell these processes, or with none all of them, to look into the mailbox."""

    @writes
    async def claim_orphans(self, limit: int) -> list[Orphan]:
        """Become the owner of instances whose owner is gone; Fenced."""

    @writes
    async def give_back(self, unread: Unread) -> bool:
        """Let others have what this process cannot read; whether there was anything to give.

        Instances that it owned are orphans, their timers and the letters that came to it are
        nobody's, and jobs are as if they had not been leased. Where a store has one process there
        is nobody to give to, and nothing happens.
        """

    async def pass_over(
        self,
        instance_ids: Collection[str],
        letters: Collection[MailKey],
        *,
        only_own: bool = False,
    ) -> None:
        """From now on leave these to others, and no others any more: they do not come here.

        No orphans, due timers and jobs of these instances, nor mail for those of them that this
        process does not own; and none of these letters. With `only_own` that holds for all
        instances that it does not own. Such mail that had been passed on to it is nobody's after
        its next look. Where a store has one process everything goes on coming.
        """

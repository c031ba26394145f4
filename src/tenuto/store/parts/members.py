"""Membership: which processes are alive, and takeover of the instances of dead ones."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime, timedelta
from typing import NamedTuple, Protocol

from msgspec import Struct

from tenuto.store.marks import writes
from tenuto.store.parts.calendars import CalendarsMark
from tenuto.store.parts.jobs import Lease
from tenuto.store.parts.mailbox import MailKey
from tenuto.store.parts.tasks import TasksMark

BEAT_EVERY = timedelta(seconds=3)
"""The default interval between a process's heartbeats."""

WRONG_CLOCK = timedelta(days=1)
"""A clock that is further ahead is wrong and ignored; others follow a clock that is less ahead."""


class Orphan(NamedTuple):
    """An instance whose owner is gone; `clean` if that process shut down cleanly."""

    instance_id: str
    clean: bool


class Unread(Struct, frozen=True, gc=False, kw_only=True):
    """Instances, messages and jobs that a process claimed and whose data its program cannot read.

    Written by a newer version of the program, for example.
    """

    instances: tuple[Orphan, ...] = ()
    """`clean` if the work in progress for it was stopped cleanly; an instance that was taken over
    and not started keeps the `clean` of its takeover."""
    messages: tuple[MailKey, ...] = ()
    """Mailbox messages for those instances, and messages that are unreadable themselves."""
    leases: tuple[Lease, ...] = ()
    """Leases on jobs that were not started."""


class Pulse(NamedTuple):
    """The store's answer to a heartbeat."""

    at: datetime | None
    """The time of the store's own clock; None if the store has no clock of its own."""
    has_orphans: bool
    """Whether a dead process left something to take over that this process does not pass over."""
    tasks: TasksMark | None = None
    """Changes when tasks are declared elsewhere; None if no other process declares any."""
    calendars: CalendarsMark | None = None
    """Changes when calendars are changed elsewhere; None if no other process changes any."""
    stops: int = 0
    """Changes when a process stops, or is declared dead: it may have left events unmatched."""


class Members(Protocol):
    """The processes that share a store."""

    @writes
    async def enter(self, process_id: str, now: datetime) -> None:
        """Register under a new process id, after having been `Fenced`."""

    @writes
    async def beat(self) -> Pulse:
        """Send a heartbeat; the answer says whether there are orphans to claim. Raises Fenced."""

    async def workers(self) -> int:
        """The known number of living processes that claim mailbox messages.

        It may be one too high for a while.
        """

    async def living(self, process_ids: Collection[str]) -> set[str]:
        """Which of these processes are alive, as far as is known; for display only."""

    async def listen(self, hear: Callable[[], None]) -> None:
        """Register a callback that is called when another process sends this one a hint.

        Hints may be lost, and some stores send none, so the mailbox must be polled as well.
        """

    async def hint(self, process_ids: Collection[str]) -> None:
        """Ask these processes to check the mailbox at once; if empty, all processes."""

    @writes
    async def claim_orphans(self, limit: int) -> list[Orphan]:
        """Become the owner of instances whose owner is gone. Raises Fenced."""

    @writes
    async def give_back(self, unread: Unread) -> bool:
        """Release what this process cannot read to other processes; whether anything was released.

        Its instances become orphans, the claims on their timers and on the messages end, and the
        jobs count as never leased. In a store with a single process this does nothing, since there
        is no other process.
        """

    async def pass_over(
        self,
        instance_ids: Collection[str],
        messages: Collection[MailKey],
        *,
        only_own: bool = False,
    ) -> None:
        """Exclude these instances and messages from this process's claims.

        Replaces what an earlier call excluded. The process is not given orphans, due timers or jobs
        of these instances, nor messages for those of them that it does not own; nor any of
        `messages`. With `only_own` the same holds for every instance that it does not own. Excluded
        messages that it had claimed are released at its next claim. In a store with a single
        process this does nothing.
        """

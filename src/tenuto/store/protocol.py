"""What a store promises: durability, atomicity and claims. It does not know what an entry means.

Three rules carry the product:

*The gate.* `commit` writes a turn in one transaction. For each instance in it the first new row, at
`version + 1`, is inserted only if no row is there and the one before it is; otherwise nothing
at all is written for that instance and its outcome is `LOST`, while the other instances of the turn
go through.

*Owners.* An instance for which a process works has that process as its owner, and nobody takes it
from a living one. A process that was taken for dead is `Fenced` at its next commit: it writes
nothing more under the name by which others have inherited from it.

*Every obligation is a row.* An instance without an owner has all it owes the world in timers, waits
and mailbox rows, so that start-up costs what is owned, never what is stored.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import get_type_hints

from tenuto.store.parts.access import Access
from tenuto.store.parts.audit import Audit
from tenuto.store.parts.bulk import Bulk
from tenuto.store.parts.dead_letters import DeadLetters
from tenuto.store.parts.definitions import Definitions
from tenuto.store.parts.inbox import Inbox
from tenuto.store.parts.instances import Instances
from tenuto.store.parts.jobs import Jobs
from tenuto.store.parts.listeners import Listeners
from tenuto.store.parts.mailbox import Mailbox
from tenuto.store.parts.members import Members
from tenuto.store.parts.outbox import Outbox
from tenuto.store.parts.stats import Stats
from tenuto.store.parts.tasks import Tasks
from tenuto.store.parts.timers import Timers
from tenuto.store.parts.turns import Turns
from tenuto.store.parts.upkeep import Upkeep
from tenuto.store.parts.waits import Waits


@dataclass(kw_only=True, eq=False, repr=False)
class Parts:
    """A store's verbs, as a record of parts. All of them are safe to repeat."""

    members: Members
    turns: Turns
    instances: Instances
    definitions: Definitions
    waits: Waits
    inbox: Inbox
    timers: Timers
    mailbox: Mailbox
    jobs: Jobs
    dead_letters: DeadLetters
    listeners: Listeners
    outbox: Outbox
    access: Access
    audit: Audit
    tasks: Tasks
    bulk: Bulk
    stats: Stats
    upkeep: Upkeep


PARTS: dict[str, type] = get_type_hints(Parts)
"""The protocol of each part, by the name of its attribute."""


class Store(Parts, ABC):
    """A store that one process has open."""

    lanes: int
    """How many commits may be under way at once."""
    is_shared: bool
    """Whether several engine processes may have it open at once."""
    beat_every: timedelta
    """How often a process has to `beat`, or it is presumed dead; where it is shared."""

    @property
    @abstractmethod
    def is_pooled(self) -> bool:
        """Whether a connection pooler is in between, which passes on no hints; known once open."""

    @abstractmethod
    async def open(self, process_id: str, now: datetime, *, is_guest: bool = False) -> datetime:
        """Make ready: lock, migrate, register the process. StoreUnavailable when it cannot.

        A process id is used once: what an earlier process left behind is found by its id. A guest
        takes no mail.
        Returns how far time has come: `now`, or the latest at which anybody has created an
        instance, stored an event or let go. Who was more than `WRONG_CLOCK` ahead does not count.
        """

    @abstractmethod
    async def close(self, now: datetime, *, clean: bool) -> None:
        """Let go; with `clean` the process's instances are handed over in good order."""

    @abstractmethod
    def abandon(self) -> None:
        """Leave the store as SIGKILL leaves it: nothing is handed over."""

    @abstractmethod
    def seen_by(self, tenant: str) -> Parts:
        """The same record for one tenant: only verbs that are marked `for_tenants`.

        A store that can has them read through connections that see no other tenant's rows. What
        is asked for still names the tenant: this is the second check, for the day on which the
        first has a hole.
        """

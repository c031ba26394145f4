"""The contract of a store: durability, atomicity and claims. Entries are opaque to it.

Three rules carry the product:

*The gate.* `commit` writes a turn in one transaction. For each instance in it the first new row, at
`version + 1`, is inserted only if no row is there and the one before it is; otherwise nothing
at all is written for that instance and its outcome is `LOST`, while the other instances of the turn
go through.

*Owners.* A process that works for an instance is its owner, and ownership is never taken from a
living process. A process that was presumed dead is `Fenced` at its next commit: under its old
process id, whose instances others have taken over, it writes nothing more.

*Every obligation is a row.* All that an instance without an owner still has to do is kept as timer,
wait and mailbox rows. So the cost of a start-up depends on the instances that are owned, not on
the instances that are stored.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import get_type_hints

from tenuto.store.parts.access import Access
from tenuto.store.parts.audit import Audit
from tenuto.store.parts.bulk import Bulk
from tenuto.store.parts.calendars import Calendars
from tenuto.store.parts.data_queries import DataQueries
from tenuto.store.parts.data_sources import DataSources
from tenuto.store.parts.dead_letters import DeadLetters
from tenuto.store.parts.definitions import Definitions
from tenuto.store.parts.inbox import Inbox
from tenuto.store.parts.instances import Instances
from tenuto.store.parts.jobs import Jobs
from tenuto.store.parts.listeners import Listeners
from tenuto.store.parts.load_reports import LoadReports
from tenuto.store.parts.mailbox import Mailbox
from tenuto.store.parts.members import Members
from tenuto.store.parts.outbox import Outbox
from tenuto.store.parts.quarantine import Quarantine
from tenuto.store.parts.rule_progress import RuleProgress
from tenuto.store.parts.schedules import Schedules
from tenuto.store.parts.sealed import Sealed
from tenuto.store.parts.secrets import Secrets
from tenuto.store.parts.slots import Slots
from tenuto.store.parts.stats import Stats
from tenuto.store.parts.task_logs import TaskLogs
from tenuto.store.parts.tasks import Tasks
from tenuto.store.parts.timers import Timers
from tenuto.store.parts.turns import Turns
from tenuto.store.parts.upkeep import Upkeep
from tenuto.store.parts.waits import Waits
from tenuto.store.parts.workers import Workers
from tenuto.store.retry_budget import RetryCounts


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
    quarantine: Quarantine
    task_logs: TaskLogs
    workers: Workers
    calendars: Calendars
    schedules: Schedules
    data_sources: DataSources
    data_queries: DataQueries
    secrets: Secrets
    sealed: Sealed
    slots: Slots
    rule_progress: RuleProgress
    load_reports: LoadReports
    stats: Stats
    upkeep: Upkeep


PARTS: dict[str, type] = get_type_hints(Parts)
"""The protocol of each part, by the name of its attribute."""


class Store(Parts, ABC):
    """A store that one process has open."""

    lanes: int
    """How many commits may be under way at once."""
    is_shared: bool
    """Whether several engine processes may have the store open at once."""
    beat_every: timedelta
    """How often a process of a shared store has to `beat`, so as not to be presumed dead."""
    around: Callable[[Parts], Parts] | None = None
    """What stands around its parts, where values are encrypted; each new record of parts gets it
    too."""

    @property
    def retries(self) -> RetryCounts:
        """How many operations were repeated; a store without a server repeats none."""
        return RetryCounts()

    @property
    def has_hints(self) -> bool:
        """Whether this process hears of what others do at once, where there are others."""
        return True

    @property
    def files_at(self) -> Path | None:
        """Where its processes may keep files that outlive them: a path that a suffix is added to.

        None: nowhere, since the store itself does not outlive its process.
        """
        return None

    @property
    @abstractmethod
    def is_pooled(self) -> bool:
        """Whether connections go through a pooler, which forwards no hints; known once open."""

    @abstractmethod
    async def open(self, process_id: str, now: datetime, *, is_guest: bool = False) -> datetime:
        """Lock, migrate, and register the process. Raises StoreUnavailable when that fails.

        A process id is used once: rows that an earlier process left behind are found by its id. A
        guest claims no mailbox messages.
        Returns the latest time that the store knows: `now`, or when any process last created an
        instance, stored an event or closed the store, if that is later. Times more than
        `WRONG_CLOCK` ahead of `now` are ignored.
        """

    @abstractmethod
    async def close(self, now: datetime, *, clean: bool) -> None:
        """Close the store; with `clean` the process's instances are marked as cleanly released."""

    @abstractmethod
    def abandon(self) -> None:
        """Leave the store as SIGKILL would: nothing is released or handed over."""

    @abstractmethod
    def seen_by(self, tenant: str) -> Parts:
        """The same record for one tenant: only verbs that are marked `for_tenants`.

        A store with row-level security reads through connections that see no other tenant's rows.
        Every call still names its tenant: row-level security is a second check, in case the first
        has a bug.
        """

"""Turns: what a lane commits in one transaction, and what it loads to decide on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Literal, NamedTuple, Protocol

from msgspec import Struct

from tenuto.model.events import Event
from tenuto.model.inputs import TimerKey
from tenuto.model.log import LogRow
from tenuto.model.search_terms import SearchTerm
from tenuto.model.status import Status
from tenuto.store.marks import writes
from tenuto.store.parts.dead_letters import DeadLetterRow
from tenuto.store.parts.inbox import Delivery
from tenuto.store.parts.instances import InstanceRow
from tenuto.store.parts.jobs import JobKey, JobRow, Lease
from tenuto.store.parts.mailbox import Mail
from tenuto.store.parts.outbox import Lifecycle
from tenuto.store.parts.timers import TimerRow
from tenuto.store.parts.waits import LookedBack, WaitKey, WaitRow


class NewInstance(Struct, frozen=True, gc=False, kw_only=True):
    """The row of a new instance."""

    definition_id: str
    definition_version: int
    status: Status
    correlation_id: str | None
    priority: int
    deadline: datetime | None
    created_at: datetime
    started_at: datetime | None
    current_steps: tuple[str, ...]
    tenant: str = "default"
    parent_id: str | None = None
    root_id: str | None = None
    rerun_of: str | None = None
    key: str | None = None
    """The idempotency key: at most one instance per (tenant, key) is ever created."""
    content_hash: bytes = b""
    """What the start asked for: the same key with another hash is a conflict."""
    needs_definition: bool = False
    """Whether it is created only while its definition has not been removed."""


class InstanceUpdate(Struct, frozen=True, gc=False, kw_only=True):
    """What lists and filters show; written when the status changes or the instance comes to rest.

    Every field replaces what was there: None means that there is none.
    """

    status: Status
    updated_at: datetime
    started_at: datetime | None
    completed_at: datetime | None
    current_steps: tuple[str, ...]
    """Ids of the open steps, the one opened last first."""
    output: bytes | None = None
    last_error: bytes | None = None
    cancellation: bytes | None = None


class Searchable(Struct, frozen=True, gc=False, kw_only=True):
    """What an instance is found by from now on, in place of whatever it was found by before."""

    tenant: str
    definition_id: str
    created_at: datetime
    terms: tuple[SearchTerm, ...]
    """Each name once."""


class Snapshot(Struct, frozen=True, gc=False, kw_only=True):
    """The fold of the first `version` entries."""

    version: int
    state: bytes


class Ownership(StrEnum):
    """What a write does to the instance's owner row."""

    KEEP = "keep"
    TAKE = "take"
    """Only where nobody else is the owner: otherwise the write is `LOST`."""
    RELEASE = "release"
    """Does nothing where somebody else is the owner."""


class InstanceWrite(Struct, frozen=True, gc=False, kw_only=True):
    """All that one turn writes for one instance.

    Without `rows` it goes through only while the log is as long as `version` says: what was
    decided on an old picture must not overwrite what follows from a newer one.
    A turn has at most one of these for an instance. What is cleared or closed goes first, so that a
    timer or wait of the same key may be set or opened in the same turn. `create` needs `rows`.
    """

    instance_id: str
    version: int
    """How many entries the decision rests on: `rows` begin at version + 1."""
    rows: tuple[LogRow, ...] = ()
    create: NewInstance | None = None
    update: InstanceUpdate | None = None
    searchable: Searchable | None = None
    """None: it is found by what it was found by."""
    snapshot: Snapshot | None = None
    timers_set: tuple[TimerRow, ...] = ()
    """Replaces a timer of the same key."""
    timers_cleared: tuple[TimerKey, ...] = ()
    waits_opened: tuple[WaitRow, ...] = ()
    waits_closed: tuple[WaitKey, ...] = ()
    """With all their arms, whichever is named."""
    deliveries: tuple[Delivery, ...] = ()
    mail_taken: tuple[str, ...] = ()
    mail_sent: tuple[Mail, ...] = ()
    """To other instances; a turn's letters go in after those that it takes. One that is there
    already stays as it is."""
    dead_letters: tuple[DeadLetterRow, ...] = ()
    dead_letters_dropped: tuple[tuple[str, str], ...] = ()
    """Nodes and compensations, with their iterations, that are tried again: their letters that were
    there before are gone, but for those of kind `late-result`."""
    jobs_offered: tuple[JobRow, ...] = ()
    jobs_withdrawn: tuple[JobKey, ...] = ()
    jobs_called_off: tuple[JobKey, ...] = ()
    """Those that nobody has claimed stay unclaimed, and workers hear of it."""
    leases: tuple[Lease, ...] = ()
    """Under which its inputs came about: without them as they are here it is `LOST`."""
    events: tuple[Event, ...] = ()
    """Which it publishes: they are in the inbox, unmatched, if it goes through."""
    ownership: Ownership = Ownership.KEEP
    lifecycle: Lifecycle | None = None
    """Leaves a row in the outbox where somebody listens for entries of that level."""
    had_ended: bool = False
    """Whether its status was a final one: then it may be erased at any moment, and a write that
    comes too late is `LOST`."""


class MatchWrite(Struct, frozen=True, gc=False, kw_only=True):
    """An event's matching, or a part of it: its targets get mail."""

    event_id: str
    mail: tuple[Mail, ...]
    deliveries: tuple[Delivery, ...]
    resumed: int
    matched_at: datetime
    cancelled: int = 0
    started: int = 0
    is_done: bool = True
    """Whether it is looked at no more; else only its mail and deliveries are written."""
    tenant: str = "default"

    @property
    def key(self) -> tuple[str, str]:
        """Which event: two tenants may have one of the same id."""
        return self.tenant, self.event_id


class Turn(Struct, frozen=True, gc=False, kw_only=True):
    """One transaction: whatever waited while the last one was being committed."""

    id: str
    """Stands in the first row of each instance, so that a turn sent twice knows itself."""
    process_id: str
    at: datetime
    writes: tuple[InstanceWrite, ...] = ()
    """Sorted by instance id: two processes never wait for each other in a circle."""
    events: tuple[Event, ...] = ()
    """Each id once, also where two tenants have one of it: results are told by id."""
    matches: tuple[MatchWrite, ...] = ()
    looked_back: tuple[LookedBack, ...] = ()


class Outcome(StrEnum):
    """What became of one instance's write."""

    WON = "won"
    LOST = "lost"
    """Somebody else's entry is there: reload and decide again."""
    DUPLICATE = "duplicate"
    """The idempotency key was used for the same content before."""
    KEY_CONFLICT = "key-conflict"
    """The idempotency key was used for other content."""
    REMOVED = "removed"
    """The definition that it needs was removed."""


class WriteResult(NamedTuple):
    """The outcome of a write; `existing_id` is the instance that has the key."""

    outcome: Outcome
    existing_id: str | None = None


class EventResult(NamedTuple):
    """What became of an event: new, seen before, or the same id with other content."""

    outcome: Literal["stored", "duplicate", "conflict"]
    resumed: int = 0
    matched: bool = False
    """Whether a duplicate's first copy had already been matched."""
    number: int = 0
    """Its place in the order of storing; 0 where it was not stored."""
    cancelled: int = 0
    started: int = 0


class TurnResult(NamedTuple):
    """Outcomes by instance id (writes with rows or `create`) and by event id.

    Also of events that writes publish which went through.
    """

    writes: dict[str, WriteResult]
    events: dict[str, EventResult]


NOTHING_KNOWN: Mapping[str, int] = MappingProxyType({})


class StoredInstance(Struct, frozen=True, gc=False, kw_only=True):
    """What is needed to go on with an instance: its row, its snapshot, and the log since."""

    row: InstanceRow
    state: bytes | None
    state_version: int
    state_bytes: int
    """How large the snapshot is, also where it was left out."""
    tail: tuple[LogRow, ...]
    owner: str | None = None
    """The process that works for it, also when that is gone and nobody has taken over yet."""
    was_left_clean: bool = False
    """Where the process that asks has taken it over: whether the owner before had let go in good
    order."""
    jobs: tuple[Lease, ...] = ()
    """Its open jobs, with the token that each was granted last; 0 before the first time."""


class Turns(Protocol):
    """The hot path: load, decide, commit."""

    @writes
    async def commit(self, turn: Turn, lane: int = 0) -> TurnResult:
        """Write a turn durably (the gate).

        StoreUnavailable, CommitUnknown, DataRefused or Fenced; after all but CommitUnknown nothing
        of it is there.
        """

    async def load(
        self, instance_ids: Sequence[str], known: Mapping[str, int] = NOTHING_KNOWN
    ) -> dict[str, StoredInstance]:
        """Snapshots and tails; ids that are not there are left out.

        Where the caller knows the state after an entry, by its seq, what comes before that entry
        may be left out, an older snapshot included; the entry itself shows that it is still there.
        """

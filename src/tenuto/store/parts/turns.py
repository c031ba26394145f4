"""Turns: the writes that a lane commits in one transaction, and the state that it loads first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Literal, NamedTuple, Protocol

from msgspec import Struct

from tenuto.model.errors import TenutoError
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
from tenuto.store.parts.slot_rows import Admission, KnownRoom, SlotKey, SlotRow
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
    origin_id: str | None = None
    """The instance that led to it, as its root or by events; None: it was started from outside."""
    key: str | None = None
    """The idempotency key: at most one instance per (tenant, key) is ever created."""
    content_hash: bytes = b""
    """Hash of the start request: the same key with another hash is a conflict."""
    needs_definition: bool = False
    """Whether it is created only if its definition has not been removed."""


class InstanceUpdate(Struct, frozen=True, gc=False, kw_only=True):
    """Columns for lists and filters; written when the status changes or the instance gets idle.

    Every field replaces the stored value; None clears it.
    """

    status: Status
    updated_at: datetime
    started_at: datetime | None
    completed_at: datetime | None
    current_steps: tuple[str, ...]
    """Ids of the open steps, newest first."""
    output: bytes | None = None
    last_error: bytes | None = None
    cancellation: bytes | None = None
    keeps_status: bool = False
    """Whether the row is known to have this `status` and `completed_at`, so that a store need not
    write them."""


class Searchable(Struct, frozen=True, gc=False, kw_only=True):
    """The search terms of an instance; they replace all earlier ones."""

    tenant: str
    definition_id: str
    created_at: datetime
    terms: tuple[SearchTerm, ...]
    """At most one term per name."""
    marks: tuple[SearchTerm, ...] = ()
    """Terms by which it is found whatever its definition; their names differ from all others."""


class Snapshot(Struct, frozen=True, gc=False, kw_only=True):
    """The fold of the first `version` entries."""

    version: int
    state: bytes


class Ownership(StrEnum):
    """What a write does to the instance's owner row."""

    KEEP = "keep"
    TAKE = "take"
    """Become the owner; the write is `LOST` if another process owns the instance."""
    RELEASE = "release"
    """Give up ownership; no effect if another process owns the instance."""


class InstanceWrite(Struct, frozen=True, gc=False, kw_only=True):
    """All that one turn writes for one instance; a turn has at most one of these per instance.

    Without `rows` it is written only if the log still has `version` entries: a decision made on an
    old state must not overwrite the results of a newer one.
    Timers are cleared and waits closed before others are set and opened, so that one turn may
    replace a timer or wait of the same key. `create` needs `rows`.
    """

    instance_id: str
    version: int
    """How many log entries the decision is based on: `rows` begin at version + 1."""
    rows: tuple[LogRow, ...] = ()
    create: NewInstance | None = None
    update: InstanceUpdate | None = None
    searchable: Searchable | None = None
    """None: the search terms stay as they are."""
    snapshot: Snapshot | None = None
    timers_set: tuple[TimerRow, ...] = ()
    """Each replaces a timer of the same key."""
    timers_cleared: tuple[TimerKey, ...] = ()
    waits_opened: tuple[WaitRow, ...] = ()
    waits_closed: tuple[WaitKey, ...] = ()
    """A wait is closed with all its arms, whichever arm the key names."""
    deliveries: tuple[Delivery, ...] = ()
    mail_taken: tuple[str, ...] = ()
    mail_sent: tuple[Mail, ...] = ()
    """Messages to other instances, inserted after the messages in `mail_taken` are deleted. A
    message whose key is in the mailbox already is not changed."""
    dead_letters: tuple[DeadLetterRow, ...] = ()
    dead_letters_dropped: tuple[tuple[str, str], ...] = ()
    """Pairs (node or compensation, iteration) that are tried again: their earlier dead letters are
    deleted, except those of kind `late-result`."""
    jobs_offered: tuple[JobRow, ...] = ()
    jobs_withdrawn: tuple[JobKey, ...] = ()
    jobs_cancelled: tuple[JobKey, ...] = ()
    """Unclaimed jobs among them can no longer be claimed by workers; workers that hold a lease are
    notified at their next heartbeat."""
    leases: tuple[Lease, ...] = ()
    """The leases under which its inputs were produced: unless all are still held with these tokens,
    the write is `LOST`."""
    slots_asked: tuple[SlotRow, ...] = ()
    """Each replaces a slot of the same key, which is given back."""
    slots_taken: tuple[SlotRow, ...] = ()
    """Slots that it takes without a pass of admission: unless all that the turn takes fit under
    `Turn.slots`, and no row waits for one of their limits, the write is `FULL`."""
    slots_released: tuple[SlotKey, ...] = ()
    """Slots that are given back, or no longer asked for; also ones that it takes."""
    events: tuple[Event, ...] = ()
    """Events that it publishes: stored in the inbox, unmatched, if the write succeeds."""
    ownership: Ownership = Ownership.KEEP
    lifecycle: Lifecycle | None = None
    """Adds an outbox row if there is a listener for entries of that level."""
    is_log_alone: bool = False
    """Whether it is known to change nothing but the log, its row and its snapshot."""
    may_be_gone: bool = False
    """Whether the instance may be erased at any moment, since it had ended before this write, or
    another process may have ended it since. A write after that is `LOST`."""
    is_sealed: bool = False
    """Whether its values are encrypted before they reach a store; no column."""


class MatchWrite(Struct, frozen=True, gc=False, kw_only=True):
    """The matching of one event, or a part of it: each target gets a mailbox message."""

    event_id: str
    mail: tuple[Mail, ...]
    deliveries: tuple[Delivery, ...]
    resumed: int
    matched_at: datetime
    cancelled: int = 0
    started: int = 0
    is_done: bool = True
    """Whether the matching is complete; if not, only messages and deliveries are written."""
    tenant: str = "default"

    @property
    def key(self) -> tuple[str, str]:
        """Identifies the event: event ids are unique per tenant only."""
        return self.tenant, self.event_id


class Turn(Struct, frozen=True, gc=False, kw_only=True):
    """One transaction: all the writes that queued up during the previous commit."""

    id: str
    """Written into the first row of each instance, so that a turn sent twice is recognised."""
    process_id: str
    at: datetime
    writes: tuple[InstanceWrite, ...] = ()
    """Sorted by instance id, so that two processes cannot deadlock."""
    events: tuple[Event, ...] = ()
    """No id twice, not even of two tenants: results are keyed by event id."""
    matches: tuple[MatchWrite, ...] = ()
    looked_back: tuple[LookedBack, ...] = ()
    slots: KnownRoom | None = None
    """With writes that take slots, or park requests: the limits under which they do."""
    admits: bool = False
    """Whether a store with one writer may make a pass of admission in the transaction of writes
    that ask for slots or give some back."""
    keeps_slots: bool = False
    """Whether such a pass keeps a part of the slots of the service for other tenants."""


class Outcome(StrEnum):
    """The outcome of one instance's write."""

    WON = "won"
    LOST = "lost"
    """Another process has written an entry first: reload and decide again."""
    DUPLICATE = "duplicate"
    """The idempotency key was already used, for the same content."""
    KEY_CONFLICT = "key-conflict"
    """The idempotency key was already used, for other content."""
    REMOVED = "removed"
    """The definition that the new instance needs was removed."""
    FULL = "full"
    """There was no room for a slot that it takes, or it was not found out: decide again, and ask.
    Nothing else stood against it."""


class WriteResult(NamedTuple):
    """The outcome of a write; `existing_id` is the instance that has the key."""

    outcome: Outcome
    existing_id: str | None = None


class EventResult(NamedTuple):
    """The outcome of storing an event: new, seen before, or the same id with other content."""

    outcome: Literal["stored", "duplicate", "conflict"]
    resumed: int = 0
    matched: bool = False
    """For a duplicate: whether the first copy had already been matched."""
    number: int = 0
    """Its place in the order of storing; 0 if it was not stored."""
    cancelled: int = 0
    started: int = 0


class TurnResult(NamedTuple):
    """Outcomes by instance id (of writes with rows or `create`) and by event id.

    Events include those that successful writes publish.
    """

    writes: dict[str, WriteResult]
    events: dict[str, EventResult]
    is_admitted: bool = False
    """Whether no pass has to be made for the slots that it asks for or gives back."""
    admission: Admission | None = None
    """The result of the pass that was made with it."""


NOTHING_KNOWN: Mapping[str, int] = MappingProxyType({})


class StoredInstance(Struct, frozen=True, gc=False, kw_only=True):
    """The stored state of an instance: its row, its snapshot, and the log since the snapshot."""

    row: InstanceRow
    state: bytes | None
    state_version: int
    state_bytes: int
    """Size of the snapshot, even if `state` was left out."""
    tail: tuple[LogRow, ...]
    owner: str | None = None
    """The process that works for it, even if that process is dead and not replaced yet."""
    was_left_clean: bool = False
    """If the calling process took the instance over: whether the previous owner had released it
    cleanly."""
    jobs: tuple[Lease, ...] = ()
    """Its open jobs, each with the token granted last; 0 if it was never leased."""
    is_sealed: bool = False
    """Whether its values are stored encrypted."""
    unreadable: TenutoError | None = None
    """Why its values cannot be decrypted here; then it has no state and no tail."""


class Turns(Protocol):
    """The hot path: load, decide, commit."""

    @writes
    async def commit(self, turn: Turn, lane: int = 0) -> TurnResult:
        """Write a turn durably (the gate).

        Raises StoreUnavailable, CommitUnknown, DataRefused or Fenced; after all but CommitUnknown
        nothing of the turn was written.
        """

    async def load(
        self, instance_ids: Sequence[str], known: Mapping[str, int] = NOTHING_KNOWN
    ) -> dict[str, StoredInstance]:
        """Snapshots and log tails by instance id; unknown ids are left out.

        `known` gives, by instance id, the seq of an entry whose state the caller has in memory. The
        store may leave out the entries before it, and a snapshot that is older. The entry itself is
        returned, as evidence that the log still has it.
        """

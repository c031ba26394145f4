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

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from types import MappingProxyType
from typing import Literal, NamedTuple, Protocol, TypeAlias

from msgspec import Struct

from tenuto.model.events import Event
from tenuto.model.inputs import TimerKey
from tenuto.model.log import LogRow
from tenuto.model.search_terms import SearchTerm
from tenuto.model.status import Status
from tenuto.store.access_protocol import AccessStore
from tenuto.store.bulk_protocol import BulkStore
from tenuto.store.erasing_protocol import Erasing
from tenuto.store.job_protocol import JobKey, JobRow, Jobs, Lease
from tenuto.store.outbox_protocol import Lifecycle, OutboxStore
from tenuto.store.stats_protocol import StatsStore
from tenuto.store.task_protocol import TasksMark, TaskStore
from tenuto.store.tenant_protocol import SeenByTenants
from tenuto.store.upkeep_protocol import Upkeep

BEAT_EVERY = timedelta(seconds=3)
"""How often a process beats unless its store says otherwise."""

WRONG_CLOCK = timedelta(days=1)
"""Who is so far ahead has a clock that is wrong; who is less far ahead is followed."""


class CommitUnknown(Exception):
    """The connection broke during COMMIT: ask what was done, never guess.

    A turn is sent again; after a claim of jobs a process asks for its `leases`.
    """


class Fenced(Exception):
    """This process was taken for dead and others own what it owned: it must enter anew."""


class Superseded(Exception):
    """Another version of a definition is the newest than the one that was named."""

    def __init__(self, newest: int) -> None:
        super().__init__(f"version {newest} is the newest")
        self.newest = newest
        """0 where there is none."""


class DataRefused(Exception):
    """The store will never take these data; the rest of the turn may be fine.

    Who looks for something by such data is not told this: it is not there.
    """


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


class TimerRow(Struct, frozen=True, gc=False, kw_only=True):
    """A timer too far away to be kept in memory."""

    instance_id: str
    key: TimerKey
    due: datetime


class WaitRow(Struct, frozen=True, gc=False, kw_only=True):
    """An open wait, with the terms by which events find it."""

    instance_id: str
    node: str
    iteration: str
    attempt: int
    pattern: str
    is_wildcard: bool
    condition: str | None
    captures: bytes
    """JSON array: the instance's side of the condition."""
    term_paths: str
    term_values: str
    since: datetime
    opened_at: datetime
    correlation_id: str | None
    tenant: str = "default"
    looked_back: bool = False
    """False until events that came before the wait was committed have been looked at."""
    follows: int = 0
    """The number of the newest event that was there when it was opened; the store fills it in."""
    arm: str = ""
    """Which of several that a wait is open for, by its id; of triggers, by its number."""
    position: int = 0
    """Where it is listed among those of its place: of several that an event fits the first wins."""

    @property
    def is_trigger(self) -> bool:
        """Whether the event starts an instance of the definition `node`: there is none yet."""
        return not self.instance_id

    @property
    def is_cancellation(self) -> bool:
        """Whether the event cancels the instance, and is for none of its nodes."""
        return not self.node


class WaitKey(NamedTuple):
    """Which wait of which instance.

    A cancellation trigger has no node, and its number as arm. A trigger has no instance, its
    definition as node, its tenant as iteration, and its number as arm.
    """

    instance_id: str
    node: str
    iteration: str
    arm: str = ""


class LookedBack(NamedTuple):
    """Which opening of a wait has seen the events that came before it: a retry opens it anew.

    All its arms have.
    """

    instance_id: str
    node: str
    iteration: str
    attempt: int


class WaitTerm(NamedTuple):
    """A (pattern, term) under which waits are open."""

    pattern: str
    term_paths: str
    term_values: str = ""


class PastTerm(NamedTuple):
    """What a payload has to have at a path, as text and never exactly: a store compares loosely."""

    path: str
    """Names joined by dots."""
    text: str | None
    number: str | None
    """One of the two: what stands there is text, or a number."""


class EventPlace(NamedTuple):
    """Where a page of the inbox ends, newest first: those below it follow."""

    received_at: datetime
    number: int
    """Of one pattern it alone counts: pages of it are in the order of storing."""


class PastEvents(Struct, frozen=True, gc=False, kw_only=True):
    """Which events a wait looks back at."""

    tenant: str = "default"
    pattern: str | None = None
    """The name of the events; None: any."""
    instance_id: str = ""
    """Whose wait it is; "" is nobody's, who takes whatever came `since`."""
    since: datetime
    """Where that is when the instance was created, the order of storing counts instead: whatever
    was stored after it. Clocks of two processes are never quite the same."""
    leeway: timedelta = timedelta()
    """By how much a clock may have been behind where time counts."""
    terms: tuple[PastTerm, ...] = ()

    @property
    def received_from(self) -> datetime:
        """When the oldest was received, where time counts."""
        return self.since - self.leeway


class PastPage(NamedTuple):
    """Some past events, as pairs (number, event)."""

    items: list[tuple[int, Event]]
    after: int
    """The number of the last that was looked at: where the next page begins."""
    is_last: bool


MOST_READ = 16_000
"""So large a payload is looked into, where many are."""
EARLIER_MS = 60_000
"""No clock is so far off: what was stored before an event of that age is older than it."""


class Mail(Struct, frozen=True, gc=False, kw_only=True):
    """What somebody else owes an instance: an input, kept until its log has taken it."""

    id: str
    instance_id: str
    input: bytes
    created_at: datetime
    for_owner: bool = False
    """Its sender does not hand it over: it is for whoever owns the instance, or takes it on."""


class MailKey(NamedTuple):
    """Which letter."""

    id: str
    instance_id: str


class DeadLetterRow(Struct, frozen=True, gc=False, kw_only=True):
    """Something that could not be done, kept for people to look at."""

    id: str
    instance_id: str
    kind: str
    node: str
    iteration: str
    attempt: int
    task_id: str | None
    input: bytes | None
    error: bytes | None
    output: bytes | None
    at: datetime
    tenant: str = "default"


class DeadLetterPlace(NamedTuple):
    """A place in the list of dead letters, which is ordered by these, newest first."""

    at: datetime
    id: str
    instance_id: str


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


DeliveryOutcome: TypeAlias = Literal[
    "matched", "resumed", "cancelled", "started", "discarded", "refused"
]


class Delivery(NamedTuple):
    """An event went to a wait or trigger, and what came of it; unique per (wait, arm, event).

    "matched" may become anything else. What a wait missed it may take once a retry has opened it
    anew, and so may a cancellation trigger; nothing else changes any more. Of an instance that an
    event starts the node is the definition.
    """

    event_id: str
    instance_id: str
    node: str
    iteration: str
    outcome: DeliveryOutcome
    arm: str = ""
    reason: str | None = None
    """Why it was refused."""
    tenant: str = "default"
    """Whose the event is, and the instance."""


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


class InboxEvent(NamedTuple):
    """An event as it lies in the inbox: its place in the order of storing, and what it did."""

    number: int
    event: Event
    matched: bool
    """Whether whom it is for is recorded."""
    resumed: int
    cancelled: int
    started: int


class TurnResult(NamedTuple):
    """Outcomes by instance id (writes with rows or `create`) and by event id.

    Also of events that writes publish which went through.
    """

    writes: dict[str, WriteResult]
    events: dict[str, EventResult]


class InstanceRow(Struct, frozen=True, gc=False, kw_only=True):
    """An instance as lists show it."""

    id: str
    tenant: str
    definition_id: str
    definition_version: int
    status: Status
    correlation_id: str | None
    priority: int
    deadline: datetime | None
    created_at: datetime
    updated_at: datetime
    started_at: datetime | None
    completed_at: datetime | None
    current_steps: tuple[str, ...]
    parent_id: str | None
    root_id: str | None
    rerun_of: str | None
    output: bytes | None
    last_error: bytes | None
    cancellation: bytes | None


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


class InstanceQuery(Struct, frozen=True, gc=False, kw_only=True):
    """Which instances to list, newest first."""

    statuses: tuple[Status, ...] = ()
    definition_id: str | None = None
    correlation_id: str | None = None
    current_step: str | None = None
    ids: tuple[str, ...] = ()
    terms: tuple[SearchTerm, ...] = ()
    """What they are all found by; only beside a `definition_id`."""
    created_from: datetime | None = None
    created_before: datetime | None = None
    tenant: str = "default"
    limit: int = 100
    after: str | None = None
    """The cursor that the page before gave."""


class InstancePage(NamedTuple):
    """Some instances, and where the next page begins."""

    items: list[InstanceRow]
    next_after: str | None


class UsedKey(NamedTuple):
    """An idempotency key, by who has it."""

    instance_id: str
    content_hash: bytes


class DefinitionRow(Struct, frozen=True, gc=False, kw_only=True):
    """A saved definition version: immutable, as its author wrote it."""

    id: str
    version: int
    content: bytes
    content_hash: bytes
    created_at: datetime
    tenant: str = "default"


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


class Store(
    AccessStore,
    BulkStore,
    Erasing,
    Jobs,
    OutboxStore,
    SeenByTenants,
    StatsStore,
    TaskStore,
    Upkeep,
    Protocol,
):
    """The verbs of a store. All of them are safe to repeat."""

    lanes: int
    """How many commits may be under way at once."""
    is_shared: bool
    """Whether several engine processes may have it open at once."""
    beat_every: timedelta
    """How often a process has to `beat`, or it is taken for dead; where it is shared."""

    async def open(self, process_id: str, now: datetime, *, is_guest: bool = False) -> datetime:
        """Make ready: lock, migrate, register the process. StoreUnavailable when it cannot.

        A process id is used once: what an earlier process left behind is found by its id. A guest
        takes no mail.
        Returns how far time has come: `now`, or the latest at which anybody has created an
        instance, stored an event or let go. Who was more than `WRONG_CLOCK` ahead does not count.
        """

    async def enter(self, process_id: str, now: datetime) -> None:
        """Go on under a new process id, after having been `Fenced`."""

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

    async def close(self, now: datetime, *, clean: bool) -> None:
        """Let go; with `clean` the process's instances are handed over in good order."""

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

    async def entries(self, instance_id: str, *, after: int = 0, limit: int = 1000) -> list[LogRow]:
        """The log from `after` on, ascending."""

    async def entries_at(self, instance_id: str, seqs: Sequence[int]) -> list[LogRow]:
        """Single rows of the log: values too large for a snapshot."""

    async def newest_seqs(self, instance_ids: Collection[str]) -> dict[str, int]:
        """How long these logs are: the seq of each one's newest entry; where there is none, none.

        One statement for all: whoever watches instances that others run asks again and again.
        """

    async def instances(self, query: InstanceQuery) -> InstancePage:
        """A page of instances, newest first, stable under inserts."""

    async def save_definition(
        self,
        tenant: str,
        id: str,
        content: bytes,
        content_hash: bytes,
        now: datetime,
        *,
        triggers: Sequence[WaitRow] = (),
        only_after: int | None = None,
    ) -> DefinitionRow:
        """A new version, or the newest one when its content is the same.

        With `only_after` only while that version is the newest; Superseded.

        With a new version `triggers` take the place of those of the version before; `attempt` is
        the version, whatever they say.
        """

    async def definition(
        self, tenant: str, id: str, version: int | None = None
    ) -> DefinitionRow | None:
        """A version, or the newest."""

    async def used_key(self, tenant: str, key: str) -> UsedKey | None:
        """Which instance was started under an idempotency key; None: nobody has used it.

        For whoever cannot have a start decided on any more: `commit` settles a key by itself.
        """

    async def tenants(self) -> list[str]:
        """Whoever has a definition, an event or a listener, in order."""

    async def definition_ids(self, tenant: str) -> list[str]:
        """Ids of all definitions, for lists and for "did you mean"."""

    async def newest_definitions(
        self, tenant: str, *, after: str = "", limit: int
    ) -> list[DefinitionRow]:
        """The newest version of each definition behind the id `after`, in the order of ids.

        Those that are only tried out are not among them.
        """

    async def wait_terms(self, tenant: str, pattern: str) -> list[WaitTerm]:
        """Distinct (pattern, term_paths) of open waits: of `pattern`, and of all wildcards."""

    async def waits_for(
        self, tenant: str, terms: Sequence[WaitTerm], *, limit: int, after: WaitKey | None = None
    ) -> list[WaitRow]:
        """Open waits under exactly these (pattern, term_paths, term_values), in key order."""

    async def waits_near(
        self, tenant: str, terms: Sequence[WaitTerm], *, limit: int
    ) -> list[WaitRow]:
        """Some open waits under these (pattern, term_paths), whatever their values.

        Of each term at most `limit`, ordered by their values and then by key; term after term.
        """

    async def waits(self, instance_id: str) -> list[WaitRow]:
        """The open waits of one instance."""

    async def unlooked_waits(self, limit: int) -> list[WaitRow]:
        """Open waits whose look-back has not run."""

    async def past_events(self, asked: PastEvents, *, after: int = 0, limit: int = 100) -> PastPage:
        """What a wait that looks back may take, in the order of storing; `limit` are looked at.

        The next page comes `after` what the last one says. What cannot fit its terms may be left
        out, and whatever a wait of the instance has taken is.
        """

    async def first_past(self, asked: Sequence[PastEvents]) -> list[int | None]:
        """The number of the first event that each may look back at, in their order; None: none.

        Each asks for one name, and its terms do not count.
        """

    async def past_texts(
        self, tenant: str, pattern: str, path: str, *, first: int, limit: int
    ) -> list[tuple[int, str | None]]:
        """What stands at a path of events of a name, as text, beside their numbers, in their order.

        None stands for what is not there, and for what a store cannot tell, or not at little cost:
        a payload of more than `MOST_READ` bytes.
        """

    async def latest_events(
        self,
        tenant: str,
        pattern: str | None,
        since: datetime,
        *,
        limit: int,
        below: EventPlace | None = None,
    ) -> list[tuple[int, Event]]:
        """The inbox from `since`, newest first, of one pattern or all; pairs (number, event).

        Of one pattern those among the last `limit` that were stored; `below` is where the page
        before ended.
        """

    async def event(self, tenant: str, id: str) -> InboxEvent | None:
        """One event of the inbox, if it is there."""

    async def unmatched_events(self, limit: int) -> list[tuple[int, Event]]:
        """Stored events whose matching has not been recorded; pairs (number, event)."""

    async def due_timers(self, now: datetime, limit: int) -> tuple[list[TimerRow], datetime | None]:
        """Timers that are due, oldest first, and when the next one after them is.

        A timer comes again until a write clears it. Where processes share the store, a timer that
        came to one of them does not come to another as long as the first lives.
        """

    async def timers(self, instance_ids: Sequence[str]) -> list[TimerRow]:
        """All timers of these instances, ordered by instance and key; none of them is claimed."""

    async def mail(self, limit: int, *, again: bool = True) -> list[Mail]:
        """Mail for instances that this process may advance, oldest first, until it is taken.

        That is mail for instances that it owns, and for those that nobody owns. What came to one
        process, or was sent by it to an instance that no other owned, does not come to another
        while the first lives and does not put it back. Unless `again` is asked for, a store may
        leave out what came to this process before.
        """

    async def put_back(self, letters: Sequence[MailKey]) -> None:
        """Let go of letters that came to this process, or were sent by it, and were not taken.

        They come again, to whoever may advance their instances then.
        """

    async def waiting_mail(self, letters: Sequence[MailKey]) -> set[MailKey]:
        """Those of these letters that are in the mailbox, whoever has them in hand."""

    async def send(self, mail: Sequence[Mail]) -> None:
        """Leave inputs for instances: the one write that a process without the lock may do.

        StoreUnavailable leaves open whether they were left, unless only one process writes. A
        store does not try again by itself: a letter that was taken meanwhile would come again.
        """

    async def claim_orphans(self, limit: int) -> list[Orphan]:
        """Become the owner of instances whose owner is gone; Fenced."""

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

    async def dead_letters(
        self, tenant: str, limit: int = 100, *, below: DeadLetterPlace | None = None
    ) -> list[DeadLetterRow]:
        """Dead letters, newest first; those below a place, where one is named."""

    async def dead_letter(self, tenant: str, instance_id: str, id: str) -> DeadLetterRow | None:
        """One dead letter, if it is there."""

    async def discard_dead_letter(self, tenant: str, instance_id: str, id: str) -> bool:
        """Forget a dead letter; whether it was there."""

    async def deliveries(self, instance_id: str) -> list[Delivery]:
        """Which events went to the waits of one instance, and what came of them.

        For people, and for tests that two stores keep the same: the engine never asks.
        """

    async def deliveries_of(self, tenant: str, event_id: str) -> list[Delivery]:
        """To whom one event went, and what came of it, ordered by the place that it went to."""

    async def prune_events(self, tenant: str, before: datetime, limit: int) -> int:
        """Forget events received before then that were matched, and whom they went to.

        At most `limit`, oldest first; how many. What is in the outbox is left for later, and so is
        what has not arrived yet where it is for: that will be written down beside it.
        """

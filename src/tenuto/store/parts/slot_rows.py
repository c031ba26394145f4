"""Rows of slots and of limits: their values, and their columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Literal, NamedTuple

import msgspec
from msgspec import Struct

from tenuto.model.durations import epoch_ms
from tenuto.model.inputs import Admitted
from tenuto.model.slots import GLOBAL, OnFull, Paced
from tenuto.store.cold.port import Row
from tenuto.store.parts.paces import begun_within, read_pace

WOKEN, PROMOTED, USUAL = 0, 1, 2
"""Classes of waiting rows: each goes before the next, among those of one tenant."""
SERVICE = ""
"""Under this name the limits of the whole service are kept."""
MOST_EXAMINED = 100
"""The most waiting rows that one pass looks at."""
LOWEST = -(1 << 62)
"""Below every rank."""
NO_LIMIT = 1 << 62
"""The limit of a key that has none."""

_encode = msgspec.json.Encoder().encode


class SlotKey(NamedTuple):
    """Whose slot: an instance's, or where a node is named, the mutex of a step."""

    instance_id: str
    node: str = ""
    iteration: str = ""


class QueuePlace(NamedTuple):
    """Where an instance stands in the queue of its tenant."""

    rank_class: int
    rank: int
    instance_id: str


class SlotRow(Struct, frozen=True, gc=False, kw_only=True):
    """A request for a slot."""

    instance_id: str
    node: str = ""
    iteration: str = ""
    tenant: str
    definition_id: str
    keys: tuple[str, ...]
    """The limits that it counts for, most special first."""
    own_key: str | None = None
    """The one among them whose limit is its own."""
    own_limit: int = 0
    on_full: OnFull = "queue"
    number: int
    rank_class: int = USUAL
    rank: int
    """Its place in its class: the lowest goes first."""
    priority: int = 0
    deadline: datetime | None = None
    asked_at: datetime
    pace: str | None = None
    """Its debounce and its rate: a `Pace`, as JSON."""
    above: tuple[str, ...] | None = None
    """Of a child: the instances above it that have slots."""
    state: Literal["waiting", "settling", "on-hold", "held", "ended"] = "waiting"
    """`settling`: debounced, until its time has come; `ended`: a pass has ended it."""
    blocked_on: str = ""
    """The limit that it is parked on; empty: a pass has to look at it."""

    @property
    def is_held_up(self) -> bool:
        """Whether more than room under limits is needed, which only a pass finds."""
        return self.pace is not None or self.state != "waiting"

    @property
    def slot_key(self) -> SlotKey:
        return SlotKey(self.instance_id, self.node, self.iteration)

    @property
    def queue_place(self) -> QueuePlace:
        return QueuePlace(self.rank_class, self.rank, self.instance_id)


class Slot(SlotRow, frozen=True, gc=False, kw_only=True):
    """A slot that is held or waited for."""

    held_at: datetime | None = None

    @property
    def rate(self) -> Paced | None:
        """How many like it may begin in a time."""
        return None if self.pace is None else read_pace(self.pace).rate


class KnownRoom(NamedTuple):
    """Under which limits a turn takes slots, as its process knows them."""

    changes: int
    """The number of the newest change of limits: the turn takes none under older ones."""
    limits: Mapping[str, int]
    """By key; a key that is not among them has no limit."""
    parked_on: Mapping[str, int] = MappingProxyType({})
    """Those that rows of the turn are parked on, where they follow from the changes alone."""
    is_kept: bool = False
    """Whether the slots of the service are kept ones: rows may wait for that limit."""

    def lacks(self, wanted: Mapping[str, int], counts: Mapping[str, Row]) -> bool:
        """Whether one of these keys has no room for so many more, or rows wait for it.

        `counts`: taken, and whether rows wait, of keys that are counted.
        """
        for key, amount in wanted.items():
            taken, is_waited_for = counts.get(key, (0, 0))
            if is_waited_for and not self.passes(key):
                return True
            if taken + amount > self.limits.get(key, NO_LIMIT):
                return True
        return False

    def passes(self, key: str) -> bool:
        """Whether a slot of a limit is taken though rows wait for it."""
        return self.is_kept and key == GLOBAL


def slot_columns(slot: SlotRow, *, is_taken: bool = False) -> tuple[str | int | None, ...]:
    """The columns of a request, or of a slot that is taken at once, in their order."""
    asked_at = epoch_ms(slot.asked_at)
    return (
        slot.instance_id,
        slot.node,
        slot.iteration,
        slot.tenant,
        slot.definition_id,
        _encode(slot.keys).decode(),
        slot.own_key,
        slot.own_limit,
        slot.on_full,
        slot.number,
        slot.rank_class,
        slot.rank,
        slot.priority,
        None if slot.deadline is None else epoch_ms(slot.deadline),
        asked_at,
        "held" if is_taken else slot.state,
        asked_at if is_taken else None,
        slot.pace,
        None if slot.above is None else _encode(slot.above).decode(),
        "" if is_taken else slot.blocked_on,
    )


class ConcurrencyRow(Struct, frozen=True, gc=False, kw_only=True):
    """The limits of the service, or of a tenant."""

    tenant: str
    document: bytes
    """A `ConcurrencyConfig`, as JSON."""
    version: int
    """Rises with each change."""
    changed_at: datetime
    changed_by: str | None = None


class QueueRuleRow(Struct, frozen=True, gc=False, kw_only=True):
    """A rule of a tenant's queue."""

    tenant: str
    id: str
    expression: str
    priority: int | None
    is_hold: bool
    note: str | None
    created_at: datetime
    created_by: str | None = None


class SlotsMark(NamedTuple):
    """The number of the newest change of limits, and whether a pass has something to do."""

    changes: int = 0
    has_work: bool = False
    next_at: int | None = None
    """When debounced requests, or such as wait for a rate, can be looked at again."""


class PaceState(NamedTuple):
    """What is known of a key of `debounce` or `rate`."""

    next_at: int | None
    """When the next one may begin, in milliseconds; None: none waits."""
    document: str

    def begun(self, per: int, now: int) -> int:
        """Of a rate: how many have begun within so many milliseconds."""
        return begun_within(self.document, now - per)


class Grant(NamedTuple):
    """A slot that a pass has granted, and the mailbox message that says so."""

    instance_id: str
    tenant: str
    mail_id: str
    input: Admitted
    at: datetime
    owner: str | None
    """The process that the message is for; None: any."""


class Admission(NamedTuple):
    """The result of a pass."""

    is_done: bool = True
    """Whether every row that waits now waits for a limit that is full."""
    has_mail: bool = False
    """Whether there are messages besides those of `grants`."""
    counts: Mapping[str, int] = MappingProxyType({})
    """How many slots of limits are taken of which it took some back or granted some; `NO_LIMIT`:
    rows wait for one."""
    changes: int = 0
    """The number of the newest change of limits."""
    owners: frozenset[str] = frozenset()
    """The processes that own instances with new messages."""
    grants: tuple[Grant, ...] = ()
    next_at: int | None = None
    """When there is something to do again, though nothing is given back."""
    kept: int = 0
    """How many slots of the service are free though rows wait, for tenants that have none there."""
    behind: frozenset[str] = frozenset()
    """The limits of the tenants of these rows."""
    waits: tuple[tuple[str, int], ...] = ()
    """Of each granted slot the kind of the limit that was full, and the milliseconds waited."""

    @property
    def granted(self) -> int:
        return len(self.grants)


KINDS = ("new", "global", "tenant", "type", "user", "key", "mutex", "debounce", "rate")
"""Kinds of limits that a row waits for; `new`: no pass has looked at it."""


def wanted_counts(slots: Iterable[SlotRow]) -> dict[str, int]:
    """How many slots of each limit these are."""
    return Counter(key for slot in slots for key in slot.keys)


def count_rows(wanted: Mapping[str, int]) -> list[tuple[str, str, int]]:
    """The rows of counts: tenant, key, how many; in the order of the keys."""
    return [(tenant_of(key), key, wanted[key]) for key in sorted(wanted)]


def tenant_of(key: str) -> str:
    """The tenant of a limit; empty: it is one of the service."""
    _, _, name = key.partition(":")
    return name.partition("/")[0]

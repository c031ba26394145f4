"""What survives a restart in memory: tables of encoded rows, and transactions over them.

Rows are kept as bytes, so that no value in here is shared with its writers and readers, and so that
text which a database would refuse is refused here too. Cold records are in a database of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

import msgspec

from tenuto.store.columns import EventColumns
from tenuto.store.errors import DataRefused
from tenuto.store.memory.cold_database import ColdDatabase
from tenuto.store.parts.inbox import DeliveryOutcome
from tenuto.store.parts.jobs import JobKey

K = TypeVar("K")
V = TypeVar("V")
T = TypeVar("T")

InstanceKey = tuple[str, str, str]
"""An instance, and which of its things."""
DeliveryKey = tuple[str, str, str, str, str]
"""An instance, node, iteration and arm, and an event."""


class StoredEvent(NamedTuple):
    """An event's row with the columns that the store adds."""

    event: EventColumns
    turn_id: str
    counts: tuple[int, int, int]
    """How many it resumed, cancelled and started."""
    matched_at: int | None


class Delivered(NamedTuple):
    """A row of event_deliveries."""

    outcome: DeliveryOutcome
    reason: str | None
    tenant: str


class Owner(NamedTuple):
    """A row of owners; `clean` when it was taken over from a process that had stopped cleanly."""

    process_id: str
    epoch: int
    clean: bool = False


class Process(NamedTuple):
    """A row of processes."""

    started_at: int
    stopped_at: int | None
    clean: bool
    seen_at: int


class Job(NamedTuple):
    """A row of jobs."""

    task_id: str
    offered_at: int
    tenant: str
    timeout: int
    silence: int | None
    """Milliseconds that a worker may take, and be silent."""
    is_cancelled: bool = False
    is_limited: bool = False
    token: int = 0
    leased_by: str | None = None
    leased_until: int = 0
    is_outside: bool = False
    """Whether a worker holds the lease, which no process answers for."""
    lease: int = 0
    overdue_at: int = 0
    details: str | None = None

    @property
    def is_free(self) -> bool:
        """Whether it may be leased."""
        return self.leased_by is None and not self.is_cancelled

    def is_of(self, process_id: str, token: int) -> bool:
        """Whether a process holds it, under that token."""
        return (self.token, self.leased_by, self.is_outside) == (token, process_id, False)


def pack(row: object) -> bytes:
    """`row` as bytes, if it can be: not text that is not Unicode, nor numbers beyond 64 bits."""
    return msgspec.msgpack.encode(row)


def unpack(kind: type[T], row: bytes) -> T:
    """The row that `pack` made bytes of."""
    return msgspec.msgpack.decode(row, type=kind)


class MemoryDisk:
    """The tables. Any number of stores may stand on one disk, as engines stand on one database."""

    def __init__(self) -> None:
        self.live: set[str] = set()
        """Processes that have this disk open, like the holders of a file lock."""
        self.guests: set[str] = set()
        """Processes that take no mailbox messages."""
        self.is_shared = False
        """Whether the disk is shared between them."""
        self.hint_callbacks: dict[str, Callable[[], None]] = {}
        """Callbacks for new mailbox messages, by process."""
        self.claims: dict[object, str] = {}
        """Timers and mailbox messages → the process that has claimed them."""
        self.unseen: set[int] = set()
        """Mailbox messages that were passed on to a process, and that it has not seen."""
        self.instances: dict[str, bytes] = {}
        self.followed: dict[str, int] = {}
        """Instances → the number of the newest event that was there before them."""
        self.log: dict[tuple[str, int], bytes] = {}
        self.log_ends: dict[str, int] = {}
        self.turn_ids: dict[tuple[str, int], str] = {}
        self.node_rows: dict[tuple[str, str | None, str, str, int], int] = {}
        self.searchable: dict[str, bytes] = {}
        self.snapshots: dict[str, bytes] = {}
        self.waits: dict[InstanceKey, dict[str, bytes]] = {}
        """Those of one place by their arms."""
        self.timers: dict[tuple[str, str, str, str], bytes] = {}
        self.deliveries: dict[DeliveryKey, Delivered] = {}
        self.events: dict[int, bytes] = {}
        self.event_numbers: dict[tuple[str, str], int] = {}
        self.mail: dict[int, bytes] = {}
        self.mail_numbers: dict[tuple[str, str], int] = {}
        self.jobs: dict[JobKey, bytes] = {}
        self.task_rates: dict[tuple[str, str], bytes] = {}
        self.owners: dict[str, bytes] = {}
        self.processes: dict[str, bytes] = {}
        self.limits_known: dict[str, int] = {}
        """Processes → the newest change of limits that they decide by."""
        self.keys: dict[tuple[str, str], bytes] = {}
        self.dead_letters: dict[tuple[str, str], bytes] = {}
        self.definitions: dict[tuple[str, str, int], bytes] = {}
        self.definition_versions: dict[tuple[str, str], int] = {}
        self.listeners: dict[tuple[str, str, str], bytes] = {}
        self.outbox: dict[int, bytes] = {}
        self.postings: dict[int, bytes] = {}
        self.posting_numbers: dict[tuple[str, str], int] = {}
        self.cold = ColdDatabase()
        self.listening = 0
        """Counts the changes of listeners."""
        self.shares: dict[str, str] = {}
        """Parts of the outbox, and listeners → the process that has claimed them."""
        self._last_number = 0
        self._undo: list[Callable[[], None]] = []

    @property
    def about_instances(self) -> tuple[dict[Any, Any], ...]:
        """Tables whose keys begin with the id of an instance: its rows are erased with it."""
        return (
            self.log,
            self.turn_ids,
            self.node_rows,
            self.waits,
            self.timers,
            self.deliveries,
            self.jobs,
            self.dead_letters,
        )

    def lives(self, process_id: str) -> bool:
        """Whether a process has this disk open, and was not declared dead."""
        row = self.processes.get(process_id)
        if row is None or process_id not in self.live:
            return False
        return unpack(Process, row).stopped_at is None

    def owner_of(self, instance_id: str) -> str | None:
        """The process that owns an instance."""
        row = self.owners.get(instance_id)
        return None if row is None else unpack(Owner, row).process_id

    def declare_dead(self, process_id: str) -> None:
        """Presume a process dead, as after a long time without heartbeats."""
        process = unpack(Process, self.processes[process_id])
        self.processes[process_id] = pack(process._replace(stopped_at=process.started_at))

    def declare_absent_dead(self, by: str) -> bool:
        """Declare every process dead that ended without closing the store; whether there were any.

        `by` is a process that has this disk open.
        """
        stopped_at = unpack(Process, self.processes[by]).started_at
        dead = {
            id: process._replace(stopped_at=stopped_at)
            for id, row in self.processes.items()
            if (process := unpack(Process, row)).stopped_at is None and id not in self.live
        }
        for id, process in dead.items():
            self.put(self.processes, id, pack(process))
        return bool(dead)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All of it or nothing; DataRefused for data that no store can keep."""
        self._undo = []
        try:
            yield
        except BaseException as error:
            for undo in reversed(self._undo):
                undo()
            if isinstance(error, UnicodeError | OverflowError | TypeError):
                raise DataRefused(str(error)) from error
            raise
        finally:
            self._undo = []

    def put(self, table: dict[K, V], key: K, value: V) -> None:
        if key in table:
            before = table[key]
            self._undo.append(lambda: table.__setitem__(key, before))
        else:
            self._undo.append(lambda: table.__delitem__(key))
        table[key] = value

    def drop(self, table: dict[K, V], key: K) -> None:
        if key in table:
            before = table.pop(key)
            self._undo.append(lambda: table.__setitem__(key, before))

    def drop_where(self, table: dict[K, V], is_gone: Callable[[K, V], bool]) -> None:
        """Drop every row of a table that the test is true of."""
        for key in [key for key, row in table.items() if is_gone(key, row)]:
            self.drop(table, key)

    @property
    def newest_event(self) -> int:
        """The number of the event that was stored last; 0 when there is none."""
        return next(reversed(self.events), 0)

    def next_number(self) -> int:
        """Rises with every row that is numbered; like a database's, it may leave holes."""
        self._last_number += 1
        return self._last_number

"""Schedules: when each has something to do next, and what became of their ticks.

A schedule is advanced by `fire` alone: one transaction that moves it on from the version that was
read, records its ticks, and puts the messages that start their instances into the mailbox.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Literal, NamedTuple, TypeAlias

import msgspec
from msgspec import Struct

from tenuto.model.durations import epoch_ms, from_epoch_ms
from tenuto.store.cold.part import ColdPart
from tenuto.store.cold.port import Ask, Insert, Script, Value
from tenuto.store.cold.rows import columns_of, records_of
from tenuto.store.looking import looked_for
from tenuto.store.marks import claims, for_tenants, writes
from tenuto.store.parts.mailbox import Mail

ScheduleStatus: TypeAlias = Literal["active", "paused", "completed", "error"]
TickOutcome: TypeAlias = Literal["started", "skipped", "refused", "missed", "queued"]
TickMark: TypeAlias = Literal["", "manual", "backfill"]

CLAIM = timedelta(seconds=3)
"""A schedule that is due is for one process for so long, or until that has fired it."""
MOST_BYTES = 8_000_000
"""Schedules that are read at once end with the one that reaches this size."""
MOST_CLOSED = 1_000
"""The most ticks of a schedule that are kept once nothing is running for them."""
MOST_TICKS = 20_000
"""The most ticks of a schedule that are kept at all."""

_MILLISECOND = timedelta(milliseconds=1)
_FARTHEST = (1 << 63) - 1


class ScheduleKey(NamedTuple):
    """Which schedule."""

    tenant: str
    id: str


class ScheduleRow(Struct, frozen=True, gc=False, kw_only=True):
    """A schedule. Its content is opaque to the store."""

    tenant: str
    id: str
    content: bytes
    """The document, as JSON."""
    revision: int
    """Rises with each change by a user."""
    version: int
    """Rises with each change: a process that has read another version changes nothing."""
    status: ScheduleStatus
    next_at: datetime | None
    """When there is next something to do for it; None: never."""
    next_tick: datetime | None
    """When its next tick is started; None: there is none."""
    handled: datetime
    """The nominal time up to which everything is answered."""
    workflow_id: str | None
    """The workflow that it starts, if it starts one."""
    calendar_id: str | None
    note: str | None = None
    """Why it is paused."""
    problem: str | None = None
    """Why no tick can succeed."""
    tries: int = 0
    """How often it was looked at since that is so."""
    last_executed: datetime | None = None
    """When its newest instance was started."""
    last_nominal: datetime | None = None
    """The nominal time of that one."""
    last_instance_id: str | None = None
    created_at: datetime
    created_by: str | None = None
    changed_at: datetime
    changed_by: str | None = None
    """When, and by whom, its document or its pause was changed last."""

    @property
    def key(self) -> ScheduleKey:
        return ScheduleKey(self.tenant, self.id)


class TickRow(Struct, frozen=True, gc=False, kw_only=True):
    """What became of a nominal time, or of several in a row."""

    tenant: str
    schedule_id: str
    nominal: datetime
    is_range: bool = False
    """Whether it stands for all ticks from `nominal` to `last`."""
    at: datetime
    """When it was to be started, moved by the calendar and delayed by the jitter."""
    outcome: TickOutcome
    instance_id: str | None = None
    reason: str | None = None
    count: int = 1
    """How many ticks it stands for."""
    last: datetime | None = None
    """The last nominal time of a range."""
    is_open: bool = False
    """Whether its instance has not ended, as far as is known, or it waits to be started."""
    is_confirmed: bool = False
    """Whether its instance is known to exist, or to have existed."""
    mark: TickMark = ""
    """Whether a user asked for it."""
    recorded_at: datetime

    @property
    def key(self) -> ScheduleKey:
        return ScheduleKey(self.tenant, self.schedule_id)


class TickPlace(NamedTuple):
    """A place in the list of a schedule's ticks, ordered by these fields, newest first."""

    nominal: datetime
    is_range: bool = False


class Fire(Struct, frozen=True, kw_only=True):
    """What one pass does for a schedule."""

    row: ScheduleRow
    """Its new state; its version is the one after the version that was read. Its document, and
    what follows from that alone, stay as they are stored."""
    ticks: tuple[TickRow, ...] = ()
    """They replace those of the same nominal times; one that was started is not forgotten."""
    mail: tuple[Mail, ...] = ()


class ScheduleNumbers(NamedTuple):
    """How many schedules have something to do, now and later; counted up to a bound."""

    active: int
    due: int


class Schedules(ColdPart):
    """Schedules and their ticks. All verbs are safe to repeat."""

    # -- by users

    @writes
    async def save(self, row: ScheduleRow) -> bool:
        """Store a schedule; False unless its version follows the stored version.

        The stored one must have the same `created_at`, too: one that was removed and made again
        begins with version 1. True also where exactly this row is stored.
        """
        verb = "insert_schedule" if row.version == 1 else "update_schedule"
        if await self._port.write_beside(verb, columns_of(row)):
            return True
        # The same schedule, where the answer to the first attempt was lost.
        return await self.get(row.tenant, row.id) == row

    @for_tenants
    async def get(self, tenant: str, id: str) -> ScheduleRow | None:
        """A schedule of a tenant."""
        return await self._one(ScheduleRow, "schedule", {"tenant": tenant, "id": id})

    @for_tenants
    async def page(
        self,
        tenant: str,
        *,
        after: str = "",
        limit: int = 1_000,
        workflow_id: str | None = None,
        calendar_id: str | None = None,
        status: ScheduleStatus | None = None,
    ) -> list[ScheduleRow]:
        """The schedules of a tenant with ids after `after`, ordered by id.

        With `workflow_id` those that start it; with `calendar_id`, and without a workflow, those
        that name it.
        """
        which = {"tenant": tenant, "after": after, "limit": limit, "status": status}
        if workflow_id is not None:
            which |= {"workflow_id": workflow_id, "calendar_id": calendar_id}
            return await self._found(ScheduleRow, "schedules_of_workflow", which)
        if calendar_id is not None:
            which |= {"calendar_id": calendar_id}
            return await self._found(ScheduleRow, "schedules_of_calendar", which)
        return await self._found(ScheduleRow, "schedules", which)

    @writes
    async def remove(self, tenant: str, id: str) -> bool:
        """Delete a schedule and its ticks; returns whether it existed. Its instances stay."""

        def script() -> Script[bool]:
            which = {"tenant": tenant, "id": id}
            gone = bool((yield Ask("remove_schedule", which)))
            yield Ask("remove_ticks", which)
            return gone

        return await self._port.transaction(script)

    @for_tenants
    async def ids(self, tenant: str, limit: int) -> list[str]:
        """The first ids of a tenant's schedules, in order: each may have a megabyte."""
        found = await self._port.rows("schedule_ids", {"tenant": tenant, "limit": limit})
        return [str(id) for (id,) in found]

    @for_tenants
    async def stored(self, tenant: str, most: int) -> int:
        """How many schedules a tenant has; it counts to `most` at most."""
        [(count,)] = await self._port.rows("count_schedules", {"tenant": tenant, "most": most})
        return int(count)

    @for_tenants
    async def ids_of_workflow(
        self,
        tenant: str,
        workflow_id: str,
        *,
        after: str,
        limit: int,
        status: ScheduleStatus | None = None,
    ) -> list[str]:
        """The ids after `after` of the schedules that start a workflow, in order."""
        which = {"tenant": tenant, "after": after, "limit": limit, "status": status}
        which |= {"workflow_id": workflow_id}
        found = await looked_for(self._port.rows("schedule_ids_of_workflow", which), nothing=[])
        return [str(id) for (id,) in found]

    @for_tenants
    async def stored_bytes(self, tenant: str) -> int:
        """How many bytes the documents of a tenant's schedules have."""
        [(size,)] = await self._port.rows("bytes_of_schedules", {"tenant": tenant})
        return int(size)

    # -- by processes

    @claims
    async def due(
        self,
        now: datetime,
        limit: int,
        claim: timedelta = CLAIM,
        *,
        most_bytes: int = MOST_BYTES,
        behind: ScheduleRow | None = None,
    ) -> list[ScheduleRow]:
        """Schedules that have something to do at `now`, the longest due first.

        They end with the one whose document, with those before, has `most_bytes`. `behind`: only
        those that come after this one.

        A store that processes share gives each of them to one process for the time of `claim`, or
        until that has fired or changed it. That divides the work; versions decide who fires.
        """
        which: dict[str, Value] = {
            "now": epoch_ms(now),
            "limit": limit,
            "claim": claim // _MILLISECOND,
            "most_bytes": most_bytes,
            "after": -1,
            "tenant": "",
            "id": "",
        }
        if behind is not None and behind.next_at is not None:
            which |= {"after": epoch_ms(behind.next_at), "tenant": behind.tenant, "id": behind.id}
        # A file has one process, for which nothing is written here.
        found = records_of(ScheduleRow, await self._port.rows("due_schedules", which))
        return sorted(found, key=lambda row: (row.next_at or now, row.tenant, row.id))

    async def next_due(self) -> datetime | None:
        """When a schedule has something to do next; None: none has anything to do."""
        found = await self._port.rows("next_due_schedule", {})
        return from_epoch_ms(found[0][0]) if found else None

    async def those(
        self, keys: Collection[ScheduleKey], most_bytes: int = MOST_BYTES
    ) -> list[ScheduleRow]:
        """Some schedules, ordered by key; those that do not exist are left out.

        They end with the one whose document, with those before, has `most_bytes`.
        """
        if not keys:
            return []
        which = {"keys": _json(sorted(keys)), "most_bytes": most_bytes}
        return await self._found(ScheduleRow, "those_schedules", which)

    @writes
    async def fire(self, fires: Sequence[Fire]) -> set[ScheduleKey]:
        """Advance schedules, record their ticks and send their messages, in one transaction.

        Each goes through as a whole if its stored version is the one before that of its row, with
        the same `created_at`, and not at all otherwise. Returns those that did not. After
        StoreUnavailable it is unknown whether they went through: who reads them again finds out.
        """
        if not fires:
            return set()
        by_key = {fire.row.key: fire for fire in fires}
        states = _json([_state(by_key[key].row) for key in sorted(by_key)])

        def script() -> Script[set[ScheduleKey]]:
            rows = yield Ask("fire_schedules", {"rows": states})
            won = sorted(ScheduleKey(*row) for row in rows)
            ticks = [each for key in won for each in by_key[key].ticks]
            mail = [each for key in won for each in by_key[key].mail]
            if ticks:
                yield _put(ticks)
            if mail:
                yield _sent(mail)
            return by_key.keys() - set(won)

        return await self._port.transaction(script)

    async def numbers(self, now: datetime, most: int) -> ScheduleNumbers:
        """How many have something to do, and how many of them now; counted up to `most`."""
        which = {"now": epoch_ms(now), "most": most}
        [(active, due)] = await self._port.rows("schedule_numbers", which)
        return ScheduleNumbers(active, due)

    # -- ticks

    @for_tenants
    async def ticks(
        self, tenant: str, schedule_id: str, limit: int, *, below: TickPlace | None = None
    ) -> list[TickRow]:
        """The ticks of a schedule, newest first; with `below`, those after that place."""
        nominal, is_range = (_FARTHEST, 0) if below is None else (epoch_ms(below[0]), int(below[1]))
        which = {
            "tenant": tenant,
            "schedule_id": schedule_id,
            "below_nominal": nominal,
            "below_range": is_range,
            "limit": limit,
        }
        return await self._found(TickRow, "ticks", which)

    @for_tenants
    async def tick(self, tenant: str, schedule_id: str, nominal: datetime) -> TickRow | None:
        """The tick of one nominal time; None: it was not recorded by itself, or is forgotten."""
        which = {"tenant": tenant, "schedule_id": schedule_id, "nominal": epoch_ms(nominal)}
        return await self._one(TickRow, "tick", which)

    async def open_ticks(
        self, keys: Collection[ScheduleKey], limit: int, *, unconfirmed: bool = False
    ) -> dict[ScheduleKey, list[TickRow]]:
        """The open ticks of schedules, the oldest of each first, at most `limit` of each.

        `unconfirmed`: only those that are not confirmed.
        """
        if not keys:
            return {}
        which = {"keys": _json(sorted(keys)), "limit": limit, "is_any": not unconfirmed}
        rows = await looked_for(self._port.rows("open_ticks", which), nothing=[])
        found: dict[ScheduleKey, list[TickRow]] = {}
        for tick in records_of(TickRow, rows):
            found.setdefault(tick.key, []).append(tick)
        for ticks in found.values():
            ticks.sort(key=lambda tick: tick.nominal)
        return found

    @writes
    async def close(self, ticks: Collection[tuple[ScheduleKey, datetime]]) -> None:
        """The instances of these ticks have ended: they are not open any more."""
        if ticks:
            closed = _json(sorted((*key, epoch_ms(nominal)) for key, nominal in ticks))
            await self._port.write("close_ticks", {"ticks": closed})

    @writes
    async def refuse(self, key: ScheduleKey, nominal: datetime, reason: str) -> bool:
        """An instance that was to be started was refused; False if it is known to exist."""
        which = {"tenant": key.tenant, "schedule_id": key.id, "nominal": epoch_ms(nominal)}
        return bool(await self._port.write("refuse_tick", which | {"reason": reason}))

    @writes
    async def trim(
        self, key: ScheduleKey, most_closed: int = MOST_CLOSED, most: int = MOST_TICKS
    ) -> int:
        """Delete the oldest ticks beyond so many that are closed, and so many at all; how many."""
        which = {
            "tenant": key.tenant,
            "schedule_id": key.id,
            "most_closed": most_closed,
            "most": most,
        }
        return len(await self._port.write("trim_ticks", which))


def _state(row: ScheduleRow) -> dict[str, object]:
    columns = columns_of(row)
    return {name: columns[name] for name in _STATE}


_STATE = (
    *("tenant", "id", "revision", "version", "status", "next_at", "next_tick", "handled", "note"),
    *("problem", "tries", "last_executed", "last_nominal", "last_instance_id", "changed_at"),
    *("changed_by", "created_at"),
)
"""The columns that `fire` changes, and those by which it finds the row."""


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _put(ticks: Sequence[TickRow]) -> Insert:
    names = TickRow.__struct_fields__
    return Insert("put_ticks", names, [tuple(columns_of(each).values()) for each in ticks])


def _sent(mail: Sequence[Mail]) -> Insert:
    rows = [(each.id, each.instance_id, each.input, epoch_ms(each.created_at)) for each in mail]
    return Insert("insert_mail", ("id", "instance_id", "input", "created_at"), rows)

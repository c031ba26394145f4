"""Processes that enter and leave, and takeover from dead ones, by the clock of the server.

A process is presumed dead when it has been silent for `dead_after`, and only by one that has itself
been heard of without a gap for as long: after an outage of the server all have been silent, and
none is dead. Its row is locked while one of its turns is under way, so that it is never declared
dead in the middle of one; from then on its turns find that it may not write.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Iterable
from datetime import datetime
from typing import TypeVar

from tenuto.model.durations import epoch_ms, from_epoch_ms
from tenuto.model.errors import StoreUnavailable
from tenuto.store.errors import CommitUnknown, Fenced
from tenuto.store.parts.calendars import CalendarsMark
from tenuto.store.parts.mailbox import MailKey
from tenuto.store.parts.members import WRONG_CLOCK, Members, Orphan, Pulse, Unread
from tenuto.store.parts.tasks import TasksMark
from tenuto.store.postgres.database import Database
from tenuto.store.postgres.driver import Row
from tenuto.store.postgres.hint_listener import payload_for
from tenuto.store.postgres.migrations import NEWEST, require_supported
from tenuto.store.postgres.queries import Column, statement
from tenuto.store.postgres.rhythm import Rhythm
from tenuto.store.postgres.session import Session, Transaction
from tenuto.store.postgres.turn_rows import part

T = TypeVar("T")

log = logging.getLogger(__name__)


class PostgresMembers(Members):
    """Processes and owners in tables."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._claims = 0
        """The number of the last claim of orphans."""
        self._doubtful: str | None = None
        """The process whose last claim may be durable although its answer was lost. No other would
        find what it brought: that has a living owner, which does not know."""

    async def enter(self, process_id: str, now: datetime) -> None:
        database = self._database
        database.require_writer()
        await enter(database.heartbeat, process_id, now, is_guest=database.is_guest)
        database.process_id = process_id

    async def beat(self) -> Pulse:
        """Within the rhythm's patience or not at all.

        A connection on which that failed is given up, so that the next beat has another.
        """
        process_id = self._database.require_writer()
        session, rhythm = self._database.heartbeat, self._database.rhythm
        beat = {**rhythm.parameters(process_id), **self._database.passing_over}
        try:
            async with asyncio.timeout(rhythm.patience):
                found = await session.rows("beat", beat)
        except TimeoutError as error:
            raise StoreUnavailable(
                f"{session.server.shown} has not answered a heartbeat for {rhythm.patience:g} s",
                advice="Look at the network, and at pg_stat_activity for what the server is busy "
                "with. It is tried again on another connection.",
            ) from error
        if not found:
            raise Fenced(process_id)
        at, has_orphans, stops, *marks = found[0]
        return Pulse(
            from_epoch_ms(at),
            has_orphans=bool(has_orphans) or self._doubtful == process_id,
            tasks=TasksMark(*marks[:3]),
            calendars=CalendarsMark(*marks[3:]),
            stops=int(stops),
        )

    async def workers(self) -> int:
        silence = {"dead_after": self._database.rhythm.dead_after_ms}
        [(living,)] = await self._database.connections.rows("workers", silence)
        return int(living)

    async def living(self, process_ids: Collection[str]) -> set[str]:
        dead_after = self._database.rhythm.dead_after_ms
        asked = {"ids": list(process_ids), "dead_after": dead_after}
        return {id for (id,) in await self._database.connections.rows("living_processes", asked)}

    async def listen(self, hear: Callable[[], None]) -> None:
        self._database.require_open()
        await self._database.listener.start(hear)

    async def hint(self, process_ids: Collection[str]) -> None:
        payload = payload_for(sorted(process_ids))
        hint = {"channel": self._database.address.schema, "payload": payload}
        await self._database.connections.rows("notify", hint)

    async def claim_orphans(self, limit: int) -> list[Orphan]:
        process_id = self._database.require_writer()
        async with self._database.pool.session() as session:
            await _declare_dead(session, process_id, self._database.rhythm)
            if self._doubtful == process_id and (found := await self._claimed(session, process_id)):
                return found
            self._claims += 1
            claim: dict[str, Column] = {
                "process_id": process_id,
                "limit": limit,
                "claim": self._claims,
                **self._database.passing_over,
            }
            sent = statement("claim_instances", session.schema)
            try:
                return _orphans(await session.commit(sent, claim))
            except CommitUnknown as error:
                self._doubtful = process_id
                raise StoreUnavailable(f"the connection broke during a claim: {error}") from error

    async def _claimed(self, session: Session, process_id: str) -> list[Orphan]:
        """The result of the last claim, if its answer was lost."""

        async def work(transaction: Transaction) -> list[Orphan]:
            await transaction.rows("lock_claims", {"process_id": process_id})
            claim = {"process_id": process_id, "claim": self._claims}
            return _orphans(await transaction.rows("claimed_before", claim))

        found = await _surely(session.transaction(work))
        self._doubtful = None
        return found

    async def give_back(self, unread: Unread) -> bool:
        given: dict[str, Column] = {
            "process_id": self._database.require_writer(),
            "instance_id": [each.instance_id for each in unread.instances],
            "is_clean": [each.clean for each in unread.instances],
            "mail_id": [message.id for message in unread.messages],
            "mail_instance_id": [message.instance_id for message in unread.messages],
        }
        held = part("leases", [(*each.key, each.token) for each in unread.leases]).parameters()
        given |= {f"job_{name}": column for name, column in held.items()}
        [(count,)] = await self._database.pool.rows("give_back", given)
        return bool(count)

    async def pass_over(
        self,
        instance_ids: Collection[str],
        messages: Collection[MailKey],
        *,
        only_own: bool = False,
    ) -> None:
        self._database.require_writer()
        self._database.passing_over = {"passed_over": sorted(instance_ids), "only_own": only_own}
        self._database.messages_passed_over = sorted(messages)


async def enter(
    session: Session, process_id: str, now: datetime, *, is_guest: bool = False
) -> datetime:
    """Register a process; returns how far time has come."""

    async def work(transaction: Transaction) -> datetime:
        process: dict[str, Column] = {
            "process_id": process_id,
            "is_guest": is_guest,
            "program": NEWEST,
        }
        if not await transaction.rows("insert_process", process):
            raise ValueError(f"process id {process_id!r} was used before")
        # A migration reads the rows of processes last: either it finds this one, or this one it.
        require_supported(session, await transaction.rows("schema_info"))
        not_after = {"not_after": epoch_ms(now + WRONG_CLOCK)}
        [(seen,)] = await transaction.rows("latest_moment", not_after)
        latest = max(epoch_ms(now), seen or 0)
        await transaction.rows("see_moment", {"process_id": process_id, "seen_at": latest})
        await transaction.rows("forget_processes")
        await transaction.rows("forget_moments")
        return from_epoch_ms(latest)

    return await _surely(session.transaction(work))


async def leave(
    session: Session, process_id: str, now: datetime, rhythm: Rhythm, *, clean: bool
) -> None:
    """Announce that a process stops, for as long as others believe that it lives.

    After that its silence says so, and it counts as not stopped in good order.
    """

    async def work(transaction: Transaction) -> None:
        await transaction.rows("stop_process", {"process_id": process_id, "is_clean": clean})
        seen = {"process_id": process_id, "seen_at": epoch_ms(now)}
        await transaction.rows("see_moment", seen)

    try:
        async with asyncio.timeout(rhythm.last_word):
            await _surely(session.transaction(work))
    except TimeoutError as error:
        raise StoreUnavailable(
            f"{session.server.shown} has not answered for {rhythm.last_word:g} s that this process "
            "stops",
            advice="Look at the network. Others take over after "
            f"{rhythm.dead_after.total_seconds():g} s, as if it had died.",
        ) from error


async def _declare_dead(session: Session, process_id: str, rhythm: Rhythm) -> None:
    me = await session.rows("bury_processes", rhythm.parameters(process_id))
    if not me:
        raise Fenced(process_id)
    [(_, dead)] = me
    if dead:
        log.warning(
            "processes %s have sent no heartbeat for over %g s and are presumed dead",
            *(", ".join(dead), rhythm.dead_after.total_seconds()),
        )


async def _surely(work: Awaitable[T]) -> T:
    """For work that its caller gives up where it is not known whether it was done."""
    try:
        return await work
    except CommitUnknown as error:
        raise StoreUnavailable(
            f"the connection broke while a process came or went: {error}"
        ) from error


def _orphans(rows: Iterable[Row]) -> list[Orphan]:
    return [Orphan(instance_id, bool(is_clean)) for instance_id, is_clean in rows]

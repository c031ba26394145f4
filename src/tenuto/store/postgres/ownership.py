"""Processes that come and go, and what they own, by the clock of the server.

A process is taken for dead when it has been silent for `dead_after`, and only by one that has
itself been heard of without a gap for as long: after an outage of the server everybody has been
silent, and nobody is dead. Its row is locked while one of its turns is under way, so that it is
never buried in the middle of one; from then on its turns find that it may not write.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Iterable, Mapping
from datetime import datetime
from typing import TypeVar

from tenuto.model.durations import epoch_ms, from_epoch_ms
from tenuto.model.errors import StoreUnavailable
from tenuto.store.postgres.driver import Row
from tenuto.store.postgres.queries import Column, statement
from tenuto.store.postgres.rhythm import Rhythm
from tenuto.store.postgres.session import Session, Transaction
from tenuto.store.protocol import WRONG_CLOCK, CommitUnknown, Fenced, Orphan, Pulse
from tenuto.store.task_protocol import TasksMark

T = TypeVar("T")

log = logging.getLogger(__name__)


async def enter(
    session: Session, process_id: str, now: datetime, *, is_guest: bool = False
) -> datetime:
    """Register a process; returns how far time has come."""
    return await _surely(
        session.transaction(lambda inner: _enter(inner, process_id, now, is_guest=is_guest))
    )


async def _surely(work: Awaitable[T]) -> T:
    """For what its caller gives up when it is not known whether it was done."""
    try:
        return await work
    except CommitUnknown as error:
        raise StoreUnavailable(
            f"the connection broke while a process came or went: {error}"
        ) from error


async def _enter(
    transaction: Transaction, process_id: str, now: datetime, *, is_guest: bool
) -> datetime:
    process: dict[str, Column] = {"process_id": process_id, "is_guest": is_guest}
    if not await transaction.rows("insert_process", process):
        raise ValueError(f"process id {process_id!r} was used before")
    not_after = {"not_after": epoch_ms(now + WRONG_CLOCK)}
    [(seen,)] = await transaction.rows("latest_moment", not_after)
    latest = max(epoch_ms(now), seen or 0)
    await transaction.rows("see_moment", {"process_id": process_id, "seen_at": latest})
    await transaction.rows("forget_processes")
    await transaction.rows("forget_moments")
    return from_epoch_ms(latest)


async def leave(
    session: Session, process_id: str, now: datetime, rhythm: Rhythm, *, clean: bool
) -> None:
    """Say that a process stops, for as long as others believe that it lives: then silence says it.

    What is not known to have stopped in good order counts as if it had not.
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


async def beat(
    session: Session, process_id: str, rhythm: Rhythm, passing_over: Mapping[str, Column]
) -> Pulse:
    """Say that a process lives, within the rhythm's patience or not at all.

    A connection on which that failed is given up, so that the next beat has another.
    """
    try:
        async with asyncio.timeout(rhythm.patience):
            found = await session.rows("beat", {**rhythm.parameters(process_id), **passing_over})
    except TimeoutError as error:
        raise StoreUnavailable(
            f"{session.server.shown} has not answered a heartbeat for {rhythm.patience:g} s",
            advice="Look at the network, and at pg_stat_activity for what the server is busy with. "
            "It is tried again on another connection.",
        ) from error
    if not found:
        raise Fenced(process_id)
    at, has_orphans, *declared = found[0]
    return Pulse(from_epoch_ms(at), bool(has_orphans), TasksMark(*declared))


class Claims:
    """Takes over what the dead have left; an answer that got lost is asked for again.

    Nobody else would find what such a claim has brought: it has a living owner, who does not know.
    """

    def __init__(self) -> None:
        self.is_in_doubt = False
        self._number = 0

    async def take(
        self,
        session: Session,
        process_id: str,
        rhythm: Rhythm,
        limit: int,
        passing_over: Mapping[str, Column],
    ) -> list[Orphan]:
        """Own what the dead have left, but for what this process passes over."""
        await _bury(session, process_id, rhythm)
        if self.is_in_doubt and (found := await self._asked_again(session, process_id)):
            return found
        self._number += 1
        sent = statement("claim_instances", session.schema)
        claim: dict[str, Column] = {
            "process_id": process_id,
            "limit": limit,
            "claim": self._number,
            **passing_over,
        }
        try:
            return _orphans(await session.commit(sent, claim))
        except CommitUnknown as error:
            self.is_in_doubt = True
            raise StoreUnavailable(f"the connection broke during a claim: {error}") from error

    async def _asked_again(self, session: Session, process_id: str) -> list[Orphan]:
        async def work(transaction: Transaction) -> list[Orphan]:
            await transaction.rows("lock_claims", {"process_id": process_id})
            claim = {"process_id": process_id, "claim": self._number}
            return _orphans(await transaction.rows("claimed_before", claim))

        found = await _surely(session.transaction(work))
        self.is_in_doubt = False
        return found


def _orphans(rows: Iterable[Row]) -> list[Orphan]:
    return [Orphan(instance_id, bool(is_clean)) for instance_id, is_clean in rows]


async def _bury(session: Session, process_id: str, rhythm: Rhythm) -> None:
    me = await session.rows("bury_processes", rhythm.parameters(process_id))
    if not me:
        raise Fenced(process_id)
    [(_, buried)] = me
    if buried:
        log.warning(
            "processes %s have been silent for over %g s and are taken for dead",
            *(", ".join(buried), rhythm.dead_after.total_seconds()),
        )

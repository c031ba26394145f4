"""Membership: the process that has the file, and takeover from earlier ones."""

from __future__ import annotations

from collections.abc import Callable, Collection, Set as AbstractSet
from datetime import datetime

from tenuto.model.durations import epoch_ms, from_epoch_ms
from tenuto.model.errors import StoreUnavailable
from tenuto.store.parts.mailbox import MailKey
from tenuto.store.parts.members import WRONG_CLOCK, Orphan, Pulse, Unread
from tenuto.store.sqlite.lock import is_locked
from tenuto.store.sqlite.part import SqlitePart, commits
from tenuto.store.sqlite.rows import owners_of
from tenuto.store.sqlite.session import Session, as_json


class SqliteMembers(SqlitePart):
    """Processes in a table of the file. The lock on it says which one lives."""

    async def enter(self, process_id: str, now: datetime) -> None:  # noqa: ARG002
        raise StoreUnavailable("the lock on the file is this process's as long as it lives")

    async def beat(self) -> Pulse:
        self._file.require_open()
        return Pulse(None, has_orphans=self._file.is_shared)

    async def workers(self) -> int:
        self._file.require_open()
        return int(is_locked(self._file.path))

    async def living(self, process_ids: Collection[str]) -> set[str]:
        # A process that died is declared dead by the next that opens the file, and by no other.
        if not is_locked(self._file.path):
            return set()
        ids = as_json(list(process_ids))
        found = await self._file.look(lambda session: session.packed("living_processes", (ids,)))
        return set(found)

    async def listen(self, hear: Callable[[], None]) -> None:
        """A process that leaves messages in a file cannot notify another."""

    async def hint(self, process_ids: Collection[str]) -> None:
        """Engines on one file share a process, or read the mailbox by themselves."""

    @commits
    def claim_orphans(self, session: Session, limit: int) -> list[Orphan]:
        file = self._file
        process_id = file.require_writer()
        if file.lock and file.is_shared:
            # One of them may have died since it was opened; when, is not known.
            living = as_json(sorted(file.lock.living))
            session.run("bury_processes", {"now": 0, "living": living})
        found = session.packed("orphans", (limit,))
        orphans = [Orphan(id, bool(is_clean)) for id, is_clean in found]
        if not orphans:
            return []
        ids = as_json([orphan.instance_id for orphan in orphans])
        session.run("claim_instances", {"process_id": process_id, "ids": ids})
        clean = {orphan.instance_id for orphan in orphans if orphan.clean}
        # Before it is durable: a reader that sees the new owner sees this too.
        for owner in owners_of(session, (ids,)):
            keep = file.left_clean.add if owner.instance_id in clean else file.left_clean.discard
            keep(owner)
        return orphans

    async def give_back(self, unread: Unread) -> bool:  # noqa: ARG002
        """A file has one program: unreadable data wait for the next version of it."""
        self._file.require_writer()
        return False

    async def pass_over(
        self,
        instance_ids: Collection[str],
        messages: Collection[MailKey],
        *,
        only_own: bool = False,
    ) -> None:
        """Nothing is excluded: there is no other process that could take it."""


def enter(session: Session, process_id: str, now: datetime, living: AbstractSet[str]) -> datetime:
    """Register a process; returns how far time has come.

    Processes that are not among the living are declared dead.
    """
    if session.rows("known_process", (process_id,)):
        raise ValueError(f"process id {process_id!r} was used before")
    [(seen,)] = session.rows("latest_moment", (epoch_ms(now + WRONG_CLOCK),))
    latest = max(epoch_ms(now), seen or 0)
    session.run("insert_process", (process_id, epoch_ms(now), latest))
    session.run("bury_processes", {"now": epoch_ms(now), "living": as_json(sorted(living))})
    session.run("forget_processes")
    return from_epoch_ms(latest)


def leave(session: Session, process_id: str, now: datetime, *, clean: bool) -> None:
    session.run("stop_process", {"id": process_id, "now": epoch_ms(now), "is_clean": int(clean)})

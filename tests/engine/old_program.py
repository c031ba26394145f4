"""Stores as a program sees them that is older than what is in them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from msgspec.structs import replace

from tenuto.store.job_protocol import JobClaims
from tenuto.store.memory import MemoryStore
from tenuto.store.postgres import PostgresStore
from tenuto.store.protocol import (
    NOTHING_KNOWN,
    Mail,
    Orphan,
    StoredInstance,
    TimerRow,
)

UNKNOWN = frozenset({"PAUSE_REQUESTED"})
"""Kinds of entries that an old program does not know; of workflows called `newer`, all of them."""


class _Old:
    """Shows entries and letters of a newer program as it would see them, and counts its claims."""

    def __init__(self, *place: Any, **options: Any) -> None:  # noqa: ANN401
        super().__init__(*place, **options)
        self.asked: Counter[str] = Counter()
        self.most_looks: int | None = None
        """More often nobody looks who ever comes to an end."""

    async def load(
        self, instance_ids: Sequence[str], known: Mapping[str, int] = NOTHING_KNOWN
    ) -> dict[str, StoredInstance]:
        self.asked["load"] += 1
        found = await super().load(instance_ids, known)  # type: ignore[misc]
        return {id: _as_seen(each) for id, each in found.items()}

    async def mail(self, limit: int, *, again: bool = True) -> list[Mail]:
        self._look("mail")
        found = await super().mail(limit, again=again)  # type: ignore[misc]
        return [_letter_as_seen(each) for each in found]

    def _look(self, name: str) -> None:
        self.asked[name] += 1
        if self.most_looks is not None and self.asked[name] > self.most_looks:
            raise AssertionError(f"{name} has been asked for {self.asked[name]} times")

    async def due_timers(self, now: datetime, limit: int) -> tuple[list[TimerRow], datetime | None]:
        self._look("due_timers")
        return await super().due_timers(now, limit)  # type: ignore[misc,no-any-return]

    async def claim_orphans(self, limit: int) -> list[Orphan]:
        self.asked["claim_orphans"] += 1
        return await super().claim_orphans(limit)  # type: ignore[misc,no-any-return]

    async def claim_jobs(
        self,
        task_ids: Sequence[str],
        limit: int,
        lease: timedelta,
        now: datetime,
        *,
        lapsed: int = 100,
    ) -> JobClaims:
        self.asked["claim_jobs"] += 1
        return await super().claim_jobs(task_ids, limit, lease, now, lapsed=lapsed)  # type: ignore[misc,no-any-return]


class OldMemory(_Old, MemoryStore):
    """Tables in memory."""


class OldPostgres(_Old, PostgresStore):
    """A database."""


def _as_seen(stored: StoredInstance) -> StoredInstance:
    is_newer = stored.row.definition_id == "newer"
    seen = [
        row._replace(event_type="OF_A_NEWER_PROGRAM")
        if is_newer or row.event_type in UNKNOWN
        else row
        for row in stored.tail
    ]
    return replace(stored, tail=tuple(seen))


def _letter_as_seen(letter: Mail) -> Mail:
    is_known = b"cancel-asked" not in letter.input and b'"newer"' not in letter.input
    return letter if is_known else replace(letter, input=b'{"type":"of-a-newer-program"}')

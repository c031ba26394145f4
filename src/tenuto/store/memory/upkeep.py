"""Backlogs and tenants of a disk in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

import msgspec

from tenuto.model.durations import epoch_ms, from_epoch_ms
from tenuto.model.log import LogRow
from tenuto.model.status import FINAL
from tenuto.model.test_run import is_test_run
from tenuto.store.columns import (
    DefinitionColumns,
    InstanceColumns,
    MailColumns,
    TimerColumns,
    WaitColumns,
)
from tenuto.store.memory.context import MemoryPart
from tenuto.store.memory.disk import Job, MemoryDisk, StoredEvent, unpack
from tenuto.store.memory.outbox import StoredNotice, StoredPosting
from tenuto.store.parts.upkeep import (
    ROW_BYTES,
    WEIGHED,
    Depths,
    Place,
    RowSecurity,
    Stored,
    Weighed,
    Weight,
    weighing,
)


class MemoryUpkeep(MemoryPart):
    """Counts over all tenants."""

    async def row_security(self) -> RowSecurity | None:
        return None

    async def depths(self, now: datetime) -> Depths:
        disk, moment = self._disk, epoch_ms(now)
        instances = [unpack(InstanceColumns, row) for row in disk.instances.values()]
        test_runs = {each.id for each in instances if is_test_run(each.definition_id)}
        jobs = [
            job
            for key, row in disk.jobs.items()
            if (job := unpack(Job, row)).leased_by is None and key.instance_id not in test_runs
        ]
        due = [
            timer.due
            for row in disk.timers.values()
            if (timer := unpack(TimerColumns, row)).due <= moment
        ]
        postings = [unpack(StoredPosting, row).posting.created_at for row in disk.postings.values()]
        mail = [unpack(MailColumns, row).created_at for row in disk.mail.values()]
        return Depths(
            active=sum(each.status not in FINAL and each.id not in test_runs for each in instances),
            waits=sum(len(arms) for key, arms in disk.waits.items() if key[0] not in test_runs),
            mail=len(mail),
            jobs=len(jobs),
            timers_due=len(due),
            untold=len(disk.outbox),
            postings=len(postings),
            oldest_mail=_oldest(mail),
            oldest_job=_oldest(job.offered_at for job in jobs),
            oldest_timer=_oldest(due),
            oldest_untold=_oldest(_first_undelivered(disk)),
            oldest_posting=_oldest(postings),
        )

    async def stored(self, what: Stored, tenant: str, most: int) -> int:
        disk = self._disk
        if what == "instances":
            rows = (unpack(InstanceColumns, row) for row in disk.instances.values())
            found = sum(row.tenant == tenant and row.status not in FINAL for row in rows)
        elif what == "waits":
            waits = (
                unpack(WaitColumns, row) for arms in disk.waits.values() for row in arms.values()
            )
            found = sum(wait.tenant == tenant for wait in waits)
        else:
            found = sum(key[0] == tenant for key in disk.event_numbers)
        return min(found, most)

    async def weigh(
        self, what: Weighed, tenant: str, *, after: Place, until: datetime, limit: int
    ) -> Weight:
        if what == "lines":
            return self._weigh_lines(weighing(tenant, after, until, limit))
        rows = sorted(each for each in self._weights(what, tenant) if each[0] > after)
        page = [each for each in rows if each[0].at <= epoch_ms(until)][:limit]
        size = sum(payload + ROW_BYTES for _, payload in page)
        return Weight(size, page[-1][0] if len(page) == limit else None)

    def _weigh_lines(self, asked: dict[str, int | str]) -> Weight:
        for (found,) in self._disk.cold.rows(WEIGHED["lines"], {**asked}):
            size, last = msgspec.json.decode(found)
            return Weight(size, Place(*last) if last else None)
        return Weight(0, None)

    def _weights(self, what: Weighed, tenant: str) -> Iterator[tuple[Place, int]]:
        disk = self._disk
        if what == "logs":
            for (id, seq), packed in disk.log.items():
                row = unpack(InstanceColumns, disk.instances[id])
                if row.tenant == tenant:
                    payload = unpack(LogRow, packed).payload
                    yield Place(row.updated_at, id, seq), len(payload or b"")
        elif what == "events":
            for (of, _), number in disk.event_numbers.items():
                if of == tenant:
                    event = unpack(StoredEvent, disk.events[number]).event
                    yield Place(event.received_at, "", number), len(event.payload)
        else:
            for (of, id, version), packed in disk.definitions.items():
                if of == tenant:
                    yield Place(0, id, version), len(unpack(DefinitionColumns, packed).content)

    async def tenants(self) -> list[str]:
        disk = self._disk
        keyed = (disk.definition_versions, disk.event_numbers, disk.listeners)
        return sorted({key[0] for table in keyed for key in table})


def _first_undelivered(disk: MemoryDisk) -> Iterable[int]:
    """The moment of the first row of the outbox."""
    for row in disk.outbox.values():
        notice = unpack(StoredNotice, row)
        if notice.event:
            yield unpack(StoredEvent, disk.events[notice.event]).event.received_at
        else:
            stretch = notice.stretch
            yield unpack(LogRow, disk.log[stretch.instance_id, stretch.first_seq]).at_ms
        return


def _oldest(moments: Iterable[int]) -> datetime | None:
    first = min(moments, default=None)
    return None if first is None else from_epoch_ms(first)

"""How much waits on a disk, and forgetting instances that have ended."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime

from tenuto.model.durations import epoch_ms, from_epoch_ms
from tenuto.model.log import LogRow
from tenuto.model.status import FINAL
from tenuto.store.columns import InstanceColumns, MailColumns, TimerColumns
from tenuto.store.memory.disk import Job, MemoryDisk, StoredEvent, unpack
from tenuto.store.memory.outbox import StoredNotice, StoredPosting
from tenuto.store.protocol import UsedKey
from tenuto.store.upkeep_protocol import Depths


def depths(disk: MemoryDisk, now: datetime) -> Depths:
    moment = epoch_ms(now)
    jobs = [job for row in disk.jobs.values() if (job := unpack(Job, row)).leased_by is None]
    due = [
        timer.due
        for row in disk.timers.values()
        if (timer := unpack(TimerColumns, row)).due <= moment
    ]
    postings = [unpack(StoredPosting, row).posting.created_at for row in disk.postings.values()]
    mail = [unpack(MailColumns, row).created_at for row in disk.mail.values()]
    return Depths(
        active=sum(
            unpack(InstanceColumns, row).status not in FINAL for row in disk.instances.values()
        ),
        waits=sum(map(len, disk.waits.values())),
        mail=len(mail),
        jobs=len(jobs),
        timers_due=len(due),
        untold=len(disk.outbox),
        postings=len(postings),
        oldest_mail=_oldest(mail),
        oldest_job=_oldest(job.offered_at for job in jobs),
        oldest_timer=_oldest(due),
        oldest_untold=_oldest(_first_untold(disk)),
        oldest_posting=_oldest(postings),
    )


def erase_instances(
    disk: MemoryDisk, tenant: str, ids: Collection[str], *, with_dead_letters: bool, dry_run: bool
) -> list[str]:
    rows = [unpack(InstanceColumns, row) for row in disk.instances.values()]
    roots = {
        row.id for row in rows if row.id in ids and row.tenant == tenant and row.root_id is None
    }
    families = {root: [root] for root in roots}
    for row in rows:
        if row.root_id in families:
            families[row.root_id].append(row.id)
    busy = {row.id for row in rows if row.status not in FINAL} | _obliged(disk)
    if not with_dead_letters:
        busy |= {key[0] for key in disk.dead_letters}
    gone = sorted(root for root, family in families.items() if busy.isdisjoint(family))
    with disk.transaction():
        if dry_run:
            return gone
        _erase(disk, {each for root in gone for each in families[root]})
    return gone


def _obliged(disk: MemoryDisk) -> set[str]:
    """Instances that owe the world something, or are still to be told of."""
    return (
        set(disk.owners)
        | {key[0] for key in disk.timers}
        | {key[0] for key in disk.waits}
        | {key[0] for key in disk.jobs}
        | {unpack(StoredNotice, row).stretch.instance_id for row in disk.outbox.values()}
    )


def _erase(disk: MemoryDisk, ids: set[str]) -> None:
    for id in ids:
        disk.drop(disk.instances, id)
        disk.drop(disk.followed, id)
        disk.drop(disk.log_ends, id)
        disk.drop(disk.snapshots, id)
    for log in [key for key in disk.log if key[0] in ids]:
        disk.drop(disk.log, log)
        disk.drop(disk.turn_ids, log)
    for node in [key for key in disk.node_rows if key[0] in ids]:
        disk.drop(disk.node_rows, node)
    for delivery in [key for key in disk.deliveries if key[0] in ids]:
        disk.drop(disk.deliveries, delivery)
    for letter in [key for key in disk.dead_letters if key[0] in ids]:
        disk.drop(disk.dead_letters, letter)
    used = [key for key, row in disk.keys.items() if unpack(UsedKey, row).instance_id in ids]
    for key in used:
        disk.drop(disk.keys, key)


def _first_untold(disk: MemoryDisk) -> Iterable[int]:
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

"""Processes that share a disk in memory, and takeover of instances that dead ones owned."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime

from tenuto.model.durations import epoch_ms
from tenuto.store.cold.rows import records_of
from tenuto.store.memory.context import MemoryPart
from tenuto.store.memory.disk import Job, MemoryDisk, Owner, Process, pack, unpack
from tenuto.store.parts.calendars import CalendarsMark
from tenuto.store.parts.mailbox import MailKey
from tenuto.store.parts.members import Orphan, Pulse, Unread
from tenuto.store.parts.tasks import TaskRow, mark_of


class MemoryMembers(MemoryPart):
    """Processes by id."""

    async def enter(self, process_id: str, now: datetime) -> None:
        former, disk = self._context.require_open(), self._disk
        with disk.transaction():
            disk.live.add(process_id)
            process = Process(epoch_ms(now), None, clean=False, seen_at=epoch_ms(now))
            disk.put(disk.processes, process_id, pack(process))
        if former in disk.guests:
            disk.guests.add(process_id)
        disk.live.discard(former)
        if former in disk.hint_callbacks:
            disk.hint_callbacks[process_id] = disk.hint_callbacks.pop(former)
        self._context.process_id = process_id

    async def beat(self) -> Pulse:
        context, disk = self._context, self._disk
        found_dead = disk.declare_absent_dead(by=context.require_living())
        owners = {
            unpack(Owner, row).process_id
            for id, row in disk.owners.items()
            if not (context.only_own or id in context.passed_over)
        }
        has_orphans = found_dead or not all(map(disk.lives, owners))
        tasks = disk.cold.rows("all_tasks", {"tenant": "", "id": "", "limit": -1})
        saved = disk.cold.rows("calendars_mark", {})
        return Pulse(
            None,
            has_orphans,
            tasks=mark_of(records_of(TaskRow, tasks)),
            calendars=CalendarsMark(*saved[0]) if saved else CalendarsMark(),
            stops=sum(not disk.lives(id) for id in disk.processes),
        )

    async def workers(self) -> int:
        self._context.require_open()
        return sum(map(self._disk.lives, self._disk.live - self._disk.guests))

    async def living(self, process_ids: Collection[str]) -> set[str]:
        return set(filter(self._disk.lives, process_ids))

    async def listen(self, hear: Callable[[], None]) -> None:
        self._disk.hint_callbacks[self._context.require_open()] = hear

    async def hint(self, process_ids: Collection[str]) -> None:
        for process_id, hear in list(self._disk.hint_callbacks.items()):
            if not process_ids or process_id in process_ids:
                hear()

    async def claim_orphans(self, limit: int) -> list[Orphan]:
        process_id, disk = self._context.require_living(), self._disk
        claimed: list[Orphan] = []
        with disk.transaction():
            owners = [(unpack(Owner, row), id) for id, row in disk.owners.items()]
            for owner, id in sorted(owners, key=lambda item: (item[0].process_id, item[1])):
                process = unpack(Process, disk.processes[owner.process_id])
                if disk.lives(owner.process_id) or self._context.passes_over(id):
                    continue
                if len(claimed) < limit:
                    successor = Owner(process_id, owner.epoch + 1, process.clean)
                    disk.put(disk.owners, id, pack(successor))
                    claimed.append(Orphan(id, process.clean))
        return claimed

    async def give_back(self, unread: Unread) -> bool:
        process_id, disk = self._context.require_open(), self._disk
        if not self._context.is_shared:
            return False
        given = 0
        with disk.transaction():
            for id, clean in unread.instances:
                row = disk.owners.get(id)
                owner = None if row is None else unpack(Owner, row)
                if owner and owner.process_id == process_id:
                    orphan = Owner(_gone_process(disk, clean=clean or owner.clean), owner.epoch)
                    disk.put(disk.owners, id, pack(orphan))
                    given += 1
            for lease in unread.leases:
                row = disk.jobs.get(lease.key)
                job = None if row is None else unpack(Job, row)
                if job and job.is_of(process_id, lease.token):
                    disk.put(disk.jobs, lease.key, pack(job._replace(leased_by=None)))
                    given += 1
        ids = {each.instance_id for each in unread.instances}
        timers = {key for key in disk.timers if key[0] in ids}
        numbers = {disk.mail_numbers[key] for key in unread.messages if key in disk.mail_numbers}
        for claimed in timers | numbers:
            if disk.claims.get(claimed) == process_id:
                del disk.claims[claimed]
                given += 1
        disk.unseen -= numbers - disk.claims.keys()
        return given > 0

    async def pass_over(
        self,
        instance_ids: Collection[str],
        messages: Collection[MailKey],
        *,
        only_own: bool = False,
    ) -> None:
        context = self._context
        context.require_open()
        if context.is_shared:
            context.passed_over = frozenset(instance_ids)
            context.messages_passed_over = frozenset(messages)
            context.only_own = only_own


def _gone_process(disk: MemoryDisk, *, clean: bool) -> str:
    """The id of a fictitious dead process: the owner of instances that were given back."""
    id = "given-back-clean" if clean else "given-back"
    stopped = Process(started_at=0, stopped_at=0, clean=clean, seen_at=0)
    disk.put(disk.processes, id, pack(stopped))
    return id

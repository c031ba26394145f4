"""A store over tables in memory: its life cycle, and the record of its parts."""

from __future__ import annotations

from datetime import datetime

from tenuto.model.durations import epoch_ms, from_epoch_ms
from tenuto.model.errors import StoreUnavailable
from tenuto.store.memory.access import MemoryAccess
from tenuto.store.memory.audit import MemoryAudit
from tenuto.store.memory.bulk import MemoryBulk
from tenuto.store.memory.context import Context
from tenuto.store.memory.dead_letters import MemoryDeadLetters
from tenuto.store.memory.definitions import MemoryDefinitions
from tenuto.store.memory.disk import Job, MemoryDisk, Owner, Process, pack, unpack
from tenuto.store.memory.inbox import MemoryInbox
from tenuto.store.memory.instances import MemoryInstances
from tenuto.store.memory.jobs import MemoryJobs
from tenuto.store.memory.listeners import MemoryListeners
from tenuto.store.memory.mailbox import MemoryMailbox
from tenuto.store.memory.members import MemoryMembers
from tenuto.store.memory.outbox import MemoryOutbox
from tenuto.store.memory.quarantine import MemoryQuarantine
from tenuto.store.memory.stats import MemoryStats
from tenuto.store.memory.tasks import MemoryTasks
from tenuto.store.memory.timers import MemoryTimers
from tenuto.store.memory.turns import MemoryTurns
from tenuto.store.memory.upkeep import MemoryUpkeep
from tenuto.store.memory.waits import MemoryWaits
from tenuto.store.parts.members import BEAT_EVERY, WRONG_CLOCK
from tenuto.store.protocol import Parts, Store
from tenuto.store.tenant_view import tenant_view


class MemoryStore(Store):
    """Keeps everything on a `MemoryDisk`; hand the disk, or the store, to the next engine."""

    lanes = 1
    beat_every = BEAT_EVERY

    def __init__(self, disk: MemoryDisk | None = None, *, shared: bool = False) -> None:
        """With `shared`, several engines that are all `shared` may open the same disk at once."""
        self.disk = MemoryDisk() if disk is None else disk
        self.is_shared = shared
        self.context = context = Context(self.disk, is_shared=shared)
        self.members = MemoryMembers(context)
        self.turns = MemoryTurns(context)
        self.instances = MemoryInstances(context)
        self.definitions = MemoryDefinitions(context)
        self.waits = MemoryWaits(context)
        self.inbox = MemoryInbox(context)
        self.timers = MemoryTimers(context)
        self.mailbox = MemoryMailbox(context)
        self.jobs = MemoryJobs(context)
        self.dead_letters = MemoryDeadLetters(context)
        self.listeners = MemoryListeners(context)
        self.outbox = MemoryOutbox(context)
        self.access = MemoryAccess(context)
        self.audit = MemoryAudit(context)
        self.tasks = MemoryTasks(context)
        self.bulk = MemoryBulk(context)
        self.quarantine = MemoryQuarantine(context)
        self.stats = MemoryStats(context)
        self.upkeep = MemoryUpkeep(context)

    @property
    def is_pooled(self) -> bool:
        return False

    async def open(self, process_id: str, now: datetime, *, is_guest: bool = False) -> datetime:
        disk = self.disk
        may_join = self.is_shared and disk.is_shared
        if self.context.process_id is not None or (disk.live and not may_join):
            raise StoreUnavailable(
                f"the store is in use by process {', '.join(sorted(disk.live))}",
                code="TEN-4002",
                advice="Stop that engine first, or give this one a store of its own.",
            )
        if process_id in disk.processes:
            raise ValueError(f"process id {process_id!r} was used before")
        latest = _latest_moment(disk, now)
        with disk.transaction():
            disk.is_shared = self.is_shared
            disk.live.add(process_id)
            if is_guest:
                disk.guests.add(process_id)
            process = Process(epoch_ms(now), None, clean=False, seen_at=latest)
            disk.put(disk.processes, process_id, pack(process))
            disk.declare_absent_dead(by=process_id)
            owning = {unpack(Owner, row).process_id for row in disk.owners.values()}
            owning |= {unpack(Job, row).leased_by or "" for row in disk.jobs.values()}
            for id, row in list(disk.processes.items()):
                if unpack(Process, row).stopped_at is not None and id not in owning:
                    disk.drop(disk.processes, id)
        self.context.process_id = process_id
        return from_epoch_ms(latest)

    async def close(self, now: datetime, *, clean: bool) -> None:
        process_id, disk = self.context.process_id, self.disk
        if process_id is None:
            return
        with disk.transaction():
            process = unpack(Process, disk.processes[process_id])
            moment = epoch_ms(now)
            stopped = process._replace(
                stopped_at=moment, clean=clean, seen_at=max(process.seen_at, moment)
            )
            disk.put(disk.processes, process_id, pack(stopped))
        self.abandon()

    def abandon(self) -> None:
        """Like SIGKILL: nothing is handed over, only the lock is released."""
        process_id = self.context.process_id
        if process_id is not None:
            self.disk.live.discard(process_id)
            self.disk.hint_callbacks.pop(process_id, None)
            self.context.process_id = None

    def seen_by(self, tenant: str) -> Parts:  # noqa: ARG002
        return tenant_view(self)


def _latest_moment(disk: MemoryDisk, now: datetime) -> int:
    seen = (unpack(Process, row).seen_at for row in disk.processes.values())
    wrong = epoch_ms(now + WRONG_CLOCK)
    return max([epoch_ms(now), *(moment for moment in seen if moment <= wrong)])

"""The context that the parts of one store share: disk, process, and excluded instances."""

from __future__ import annotations

from collections.abc import Iterable

from tenuto.model.errors import StoreUnavailable
from tenuto.store.errors import Fenced
from tenuto.store.memory.disk import MemoryDisk
from tenuto.store.parts.mailbox import MailKey


class Context:
    """One store on a disk."""

    def __init__(self, disk: MemoryDisk, *, is_shared: bool) -> None:
        self.disk = disk
        self.is_shared = is_shared
        self.process_id: str | None = None
        """None while the store is not open."""
        self.passed_over: frozenset[str] = frozenset()
        """Instances that are left to other processes."""
        self.messages_passed_over: frozenset[MailKey] = frozenset()
        self.only_own = False
        """Whether all instances that this process does not own are left to other processes."""

    def require_open(self) -> str:
        """The process id; StoreUnavailable while the store is not open."""
        if self.process_id is None:
            raise StoreUnavailable("the store is not open")
        return self.process_id

    def require_living(self) -> str:
        """The process id; Fenced where the process was declared dead."""
        process_id = self.require_open()
        if not self.disk.lives(process_id):
            raise Fenced(f"process {process_id} was declared dead")
        return process_id

    def passes_over(self, instance_id: str) -> bool:
        """Whether orphans and timers of an instance are left to other processes."""
        if instance_id in self.passed_over:
            return True
        return self.only_own and self.disk.owner_of(instance_id) != self.process_id

    def may_claim(self, item: object) -> bool:
        """Whether no other living process has claimed a timer or a mailbox message."""
        claimed_by = self.disk.claims.get(item)
        return claimed_by in {None, self.process_id} or not self.disk.lives(claimed_by)

    def claim(self, items: Iterable[object]) -> None:
        """Claim timers or mailbox messages; a store that is not open claims nothing."""
        if self.process_id is not None:
            self.disk.claims.update(dict.fromkeys(items, self.process_id))


class MemoryPart:
    """One part of a store in memory."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._disk = context.disk

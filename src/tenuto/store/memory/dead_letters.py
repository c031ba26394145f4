"""Dead letters, over tables in memory."""

from __future__ import annotations

from operator import attrgetter

from tenuto.store.columns import (
    DeadLetterColumns,
    InstanceColumns,
    code_start,
    dead_letter_bound,
    dead_letter_end,
    dead_letter_place,
    dead_letter_row,
)
from tenuto.store.memory.context import MemoryPart
from tenuto.store.memory.disk import unpack
from tenuto.store.parts.dead_letters import (
    EVERY_LETTER,
    DeadLetterPlace,
    DeadLetterRow,
    LetterQuery,
)

_place = attrgetter("at", "id", "instance_id")


class MemoryDeadLetters(MemoryPart):
    """Dead letters by instance and id."""

    async def page(
        self,
        tenant: str,
        limit: int = 100,
        *,
        below: DeadLetterPlace | None = None,
        down_to: DeadLetterPlace | None = None,
        which: LetterQuery = EVERY_LETTER,
    ) -> list[DeadLetterRow]:
        last = dead_letter_end(down_to)
        newest = [
            row
            for row in self._below(tenant, below)
            if _place(row) >= last and self._fits(row, which)
        ]
        return [dead_letter_row(row) for row in newest[:limit]]

    async def place(
        self, tenant: str, count: int, *, below: DeadLetterPlace | None = None
    ) -> DeadLetterPlace | None:
        newest = self._below(tenant, below)
        return dead_letter_place(*_place(newest[count - 1])) if len(newest) >= count else None

    def _below(self, tenant: str, below: DeadLetterPlace | None) -> list[DeadLetterColumns]:
        """The letters of a tenant below a place, newest first."""
        rows = (unpack(DeadLetterColumns, row) for row in self._disk.dead_letters.values())
        end = dead_letter_bound(below)
        found = (row for row in rows if row.tenant == tenant and _place(row) < end)
        return sorted(found, key=_place, reverse=True)

    def _fits(self, row: DeadLetterColumns, which: LetterQuery) -> bool:
        if which.kind not in (None, row.kind) or which.task_id not in (None, row.task_id):
            return False
        start = code_start(which)
        if start is not None and not (row.error or b"").startswith(start):
            return False
        if which.definition_id is None:
            return True
        found = self._disk.instances.get(row.instance_id)
        return found is not None and unpack(InstanceColumns, found).definition_id == (
            which.definition_id
        )

    async def get(self, tenant: str, instance_id: str, id: str) -> DeadLetterRow | None:
        row = self._disk.dead_letters.get((instance_id, id))
        found = None if row is None else dead_letter_row(unpack(DeadLetterColumns, row))
        return found if found is not None and found.tenant == tenant else None

    async def discard(self, tenant: str, instance_id: str, id: str) -> bool:
        self._context.require_open()
        if await self.get(tenant, instance_id, id) is None:
            return False
        with self._disk.transaction():
            self._disk.drop(self._disk.dead_letters, (instance_id, id))
        return True

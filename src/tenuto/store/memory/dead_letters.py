"""Dead letters, over tables in memory."""

from __future__ import annotations

from operator import attrgetter

from tenuto.store.columns import DeadLetterColumns, dead_letter_bound, dead_letter_row
from tenuto.store.memory.context import MemoryPart
from tenuto.store.memory.disk import unpack
from tenuto.store.parts.dead_letters import DeadLetterPlace, DeadLetterRow

_place = attrgetter("at", "id", "instance_id")


class MemoryDeadLetters(MemoryPart):
    """Dead letters by instance and id."""

    async def page(
        self, tenant: str, limit: int = 100, *, below: DeadLetterPlace | None = None
    ) -> list[DeadLetterRow]:
        rows = (unpack(DeadLetterColumns, row) for row in self._disk.dead_letters.values())
        end = dead_letter_bound(below)
        found = (row for row in rows if row.tenant == tenant and _place(row) < end)
        newest = sorted(found, key=_place, reverse=True)
        return [dead_letter_row(row) for row in newest[:limit]]

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

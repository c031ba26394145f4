"""Declared tasks: SQLite deletes from one table with one statement."""

from __future__ import annotations

from tenuto.store.cold.port import Ask, Parameters, Script
from tenuto.store.cold.tasks import TaskRecords


class SqliteTasks(TaskRecords):
    """Declared tasks, and the state of their addresses."""

    async def remove(self, tenant: str, id: str) -> bool:
        return await self._port.transaction(lambda: _remove({"tenant": tenant, "id": id}))


def _remove(which: Parameters) -> Script[bool]:
    yield Ask("remove_push_target", which)
    return bool((yield Ask("remove_task", which)))

"""Suspects and quarantined instances, over a table in memory."""

from __future__ import annotations

from msgspec.structs import replace

from tenuto.store.columns import InstanceColumns
from tenuto.store.memory.context import MemoryPart
from tenuto.store.memory.disk import pack, unpack
from tenuto.store.parts.quarantine import Suspect


class MemoryQuarantine(MemoryPart):
    """Suspects by instance."""

    async def suspect(self, suspect: Suspect) -> None:
        self._context.require_open()
        disk, key = self._disk, (suspect.instance_id,)
        row = disk.quarantine.get(key)
        if row is not None:
            known = unpack(Suspect, row)
            if known.is_quarantined or known.process_id == suspect.process_id:
                return
            suspect = replace(suspect, is_quarantined=True)
        found = disk.instances.get(suspect.instance_id)
        tenant = "" if found is None else unpack(InstanceColumns, found).tenant
        with disk.transaction():
            disk.put(disk.quarantine, key, pack(replace(suspect, tenant=tenant)))

    async def suspects(self) -> list[Suspect]:
        table = self._disk.quarantine
        return [unpack(Suspect, table[key]) for key in sorted(table)]

    async def clear(self, instance_id: str) -> bool:
        self._context.require_open()
        disk = self._disk
        is_there = (instance_id,) in disk.quarantine
        with disk.transaction():
            disk.drop(disk.quarantine, (instance_id,))
        return is_there

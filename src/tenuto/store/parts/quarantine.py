"""Instances that processes died of: suspects, and those that are quarantined for it."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from tenuto.store.cold.part import ColdPart
from tenuto.store.cold.rows import columns_of
from tenuto.store.marks import writes


class Suspect(Struct, frozen=True, gc=False, kw_only=True):
    """An instance that a process was deciding on when it died, or when it was stopped."""

    instance_id: str
    tenant: str = ""
    """Its tenant, as the store knows it; empty if there is no such instance yet."""
    place: str
    """The kind of the input that was decided on, with its step."""
    process_id: str
    """The process that this happened to last."""
    at: datetime
    reason: str
    is_quarantined: bool = False
    """Whether no process decides on the instance until it is released."""


class Quarantine(ColdPart):
    """Few rows: one for each suspect. All verbs are safe to repeat."""

    @writes
    async def suspect(self, suspect: Suspect) -> None:
        """Record a suspect; one that was recorded before for another process is quarantined."""
        await self._port.write("put_suspect", columns_of(suspect))

    async def suspects(self) -> list[Suspect]:
        """All suspects, by their ids."""
        return await self._found(Suspect, "suspects", {})

    @writes
    async def clear(self, instance_id: str) -> bool:
        """Remove a suspect, quarantined or not; whether there was one."""
        return bool(await self._port.write_beside("clear_suspect", {"instance_id": instance_id}))

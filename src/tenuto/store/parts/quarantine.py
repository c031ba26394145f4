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
    version: int = 0
    """How long the log of the instance was when the note was read."""
    deaths: int = 1
    """How many processes died of it, one after the other."""


class Quarantine(ColdPart):
    """Few rows: one for each suspect. All verbs are safe to repeat."""

    @writes
    async def suspect(self, suspect: Suspect, *, is_recovery: bool = False) -> None:
        """Record a suspect.

        One that was recorded before for another process is quarantined if both died of the same
        place; or if the second died in the recovery from the first (`is_recovery`), which had added
        nothing to the log; or as soon as it is the third.
        """
        await self._port.write("put_suspect", columns_of(suspect) | {"is_recovery": is_recovery})

    async def suspects(self) -> list[Suspect]:
        """All suspects, by their ids."""
        return await self._found(Suspect, "suspects", {})

    async def get(self, instance_id: str) -> Suspect | None:
        """An instance if it is a suspect, quarantined or not."""
        return await self._one(Suspect, "suspect", {"instance_id": instance_id})

    @writes
    async def clear(self, instance_id: str) -> bool:
        """Remove a suspect, quarantined or not; whether there was one."""
        return bool(await self._port.write_beside("clear_suspect", {"instance_id": instance_id}))

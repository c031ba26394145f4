"""What a store forgets for good: instances with every trace of them, and what was tried out."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple, Protocol


class DefinitionKey(NamedTuple):
    """Which definition of which tenant."""

    tenant: str
    id: str


class Erasing(Protocol):
    """The verbs of a store about forgetting. All of them are safe to repeat."""

    async def erase_instance(self, tenant: str, instance_id: str) -> bool:
        """Forget an instance with all rows that are about it; whether it was there.

        Its log, snapshot, steps, timers, waits, letters, jobs, deliveries, dead letters, keys, and
        what its listeners have not been told. Events that it published are the inbox's and stay.
        It has ended: nobody may work for it any more.
        """

    async def erase_definition(self, tenant: str, id: str) -> None:
        """Forget all versions of a definition of which there is no instance."""

    async def old_rehearsals(self, before: datetime, limit: int) -> list[DefinitionKey]:
        """Definitions that are only tried out (`~test:`), made before then, oldest first."""

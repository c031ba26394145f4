"""What a store keeps of actions over many things: what was asked for, and how far it has come."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple, Protocol

from msgspec import Struct


class BulkRow(Struct, frozen=True, gc=False, kw_only=True):
    """An action over many things. The store does not know what it means."""

    tenant: str
    id: str
    content: bytes
    """What was asked for."""
    progress: bytes
    """How far it has come."""
    created_at: datetime
    is_open: bool = True
    """Whether somebody has to go on with it."""
    is_stopped: bool = False
    """Whether somebody asked that nobody goes on with it."""
    token: int = 0
    """Rises with every claim: who has an older one writes nothing."""


class BulkPlace(NamedTuple):
    """A place in the list of a tenant's, which is ordered by these, newest first."""

    created_at: datetime
    id: str


class BulkStore(Protocol):
    """The verbs of a store about actions over many things. All of them are safe to repeat."""

    async def put_bulk(self, row: BulkRow) -> BulkRow:
        """Keep a new one; where its id is there already, what is there."""

    async def bulk(self, tenant: str, id: str) -> BulkRow | None:
        """One of them, if it is there."""

    async def bulks(
        self, tenant: str, limit: int, *, below: BulkPlace | None = None
    ) -> list[BulkRow]:
        """Those of a tenant, newest first; those below a place, where one is named."""

    async def claim_bulks(self, now: datetime, until: datetime, limit: int) -> list[BulkRow]:
        """Take open ones that nobody holds at `now`; they are held `until` then."""

    async def save_bulk(self, row: BulkRow, until: datetime) -> BulkRow | None:
        """Write how far it has come, and hold it `until` then; None where the token is old.

        What is given back says whether it was stopped meanwhile.
        """

    async def stop_bulk(self, tenant: str, id: str) -> BulkRow | None:
        """Ask that nobody goes on with it; None where there is none."""

    async def prune_bulks(self, tenant: str, before: datetime, limit: int) -> int:
        """Forget those that were made before then and are over; at most `limit`; how many."""
